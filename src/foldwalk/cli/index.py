"""``foldwalk index``: pictures or vectors into a new index, or on with one that was begun."""

from __future__ import annotations

from typing import Annotated

import typer

from foldwalk.cli.output import AsJson, print_json, say
from foldwalk.cli.sources import MetadataPath, SourcePath


def index(
    source: SourcePath,
    out: Annotated[
        str | None, typer.Option(help="The index, a folder or a URL; SOURCE's name and .fold if not given.")
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(
            help="What describes pictures: effnet_lite0:rmac (the default), hf:OWNER/NAME, pixels, "
            "a .onnx file; see foldwalk backbones."
        ),
    ] = None,
    metric: Annotated[str | None, typer.Option(help="cosine (the default) or euclidean.")] = None,
    metadata: MetadataPath = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove items whose files are gone from the folder.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make an index of a folder of pictures or a file of vectors. Run again, it goes on where it stopped."""
    from foldwalk import stores
    from foldwalk.cli.sources import add_source, check_source, is_vectors, summary
    from foldwalk.core import BadInput
    from foldwalk.descriptors import FOR_INDEXES
    from foldwalk.index import Index

    check_source(source)
    target = out if out is not None else f"{source.absolute().stem}.fold"
    resumed = stores.exists(target)
    if resumed:
        if backbone is not None or metric is not None:
            raise BadInput(f"{target} exists already, with a backbone and a metric: leave out these options.")
        collection = Index.open(target)
    else:
        described_by = backbone or (None if is_vectors(source) else FOR_INDEXES)
        collection = Index.create(target, backbone=described_by, metric=metric or "cosine")
    with collection:
        try:
            report = add_source(collection, source, metadata, prune)
        except BaseException:
            if not resumed and not collection.store.count():  # nothing came of it: leave nothing behind
                collection.store.erase()
            raise
        if as_json:
            print_json({"index": target, "items": len(collection), **report.as_dict()})
        else:
            say(summary(collection, report))
