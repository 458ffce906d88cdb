"""The files that pictures were read from: the folders they lie in, their keys, what becomes of them."""
