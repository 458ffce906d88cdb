"""What is asked of a collection: a query, a method that has seen the items, hits and why they are there."""
