"""``foldwalk info``: what an index is, and whether a rebuild is worth it."""

from __future__ import annotations

from foldwalk.cli.output import AsJson, print_json, say
from foldwalk.cli.sources import IndexPlace


def info(index: IndexPlace, as_json: AsJson = False) -> None:
    """Show size, metric, backbone and version of an index, and the state of its graph."""
    from foldwalk.core.progress import for_terminal, reporting
    from foldwalk.index import Index
    from foldwalk.index.tuning.preference import full_name

    with Index.open(index) as collection, reporting(for_terminal()):
        found = collection.info()
    if as_json:
        print_json({"index": index, **found.as_dict()})
        return
    say(f"{index}: {found.items} items of {found.dim or 'no'} dimensions, by {found.metric}")
    say(f"described by {found.backbone or 'no backbone'}, version {found.version}, {found.bytes:,} bytes")
    say(f"fitted: {', '.join(found.methods_fitted) or 'no method'}")
    for model in found.models:
        since = f"{model.came} came and {model.went} went since"
        say(f"{model.method}: trained on {model.items} items; {since}")
    for state in found.views:
        say(state.sentence)
    for method, note in found.notes.items():
        say(f"{method}: {note}")
    if found.preferred is not None:
        name = full_name(found.preferred.method, found.preferred.parameters)
        say(f"preferred: {name}, where a search names no method ({found.preferred.reason})")
    say(found.reason)
