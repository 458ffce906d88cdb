"""Methods that choose among the others for the collection at hand, without labels."""
