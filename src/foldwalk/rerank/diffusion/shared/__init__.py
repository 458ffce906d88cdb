"""What several diffusions share."""
