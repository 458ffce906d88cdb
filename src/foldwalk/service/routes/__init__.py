"""The HTTP interface, by subject: searching, the items, the service itself."""
