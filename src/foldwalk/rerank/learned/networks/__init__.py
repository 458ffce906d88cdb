"""Networks of the learned re-rankers. They need torch, so nothing imports them before they are needed."""
