"""What several contextual methods share."""
