"""``foldwalk add``: more pictures or vectors into an index."""

from __future__ import annotations

from foldwalk.cli.output import AsJson, print_json, say
from foldwalk.cli.sources import IndexPlace, MetadataPath, SourcePath


def add(
    index: IndexPlace, source: SourcePath, metadata: MetadataPath = None, as_json: AsJson = False
) -> None:
    """Add a folder of pictures or a file of vectors. What is there already and unchanged is passed over."""
    from foldwalk.cli.sources import add_source, check_source, summary
    from foldwalk.index import Index

    check_source(source)
    with Index.open(index) as collection:
        report = add_source(collection, source, metadata)
        if as_json:
            print_json({"index": index, "items": len(collection), **report.as_dict()})
        else:
            say(summary(collection, report))
