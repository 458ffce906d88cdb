"""What several expansions share."""
