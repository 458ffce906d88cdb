"""What several trained methods share."""
