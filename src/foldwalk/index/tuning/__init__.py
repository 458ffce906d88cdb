"""Labels where they lie around: which method suits a collection, and that it is remembered."""
