"""The loaders, one file per data set or family. Every module here names its loaders in SOURCES."""
