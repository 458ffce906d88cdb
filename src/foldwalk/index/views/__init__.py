"""What views learned from a collection: kept with it, and used until the collection is another."""
