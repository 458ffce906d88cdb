"""What the index is, and whether building its graph anew would be worth the time."""

from __future__ import annotations

from foldwalk.index.graph.recall import GOOD_RECALL, SAMPLED_ROWS
from foldwalk.index.tuning.preference import KeptPreference
from foldwalk.index.types import Info
from foldwalk.index.view import View

MOST_GAPS = 0.3


def info(view: View) -> Info:
    facts = view.facts
    drift = view.graph().drift()
    advised, reason = _advice(view.recall, drift, view.store.gaps())
    return Info(
        items=len(view),
        dim=facts.dim,
        metric=facts.metric,
        backbone=facts.backbone,
        version=facts.version,
        bytes=view.store.size_in_bytes(),
        drift=drift,
        recall=view.recall,
        rebuild_advised=advised,
        reason=reason,
        methods_fitted=view.methods_fitted(),
        models=view.models(),
        views=view.views(),
        notes=view.notes(),
        preferred=KeptPreference(view.store, facts.metric).load(),
    )


def _advice(recall: float, drift: float, gaps: float) -> tuple[bool, str]:
    changed = f"{drift:.1%} of the graph's rows changed since it was built"
    found = f"{recall:.1%} of the true neighbours of {SAMPLED_ROWS} sampled items are in it"
    if recall < GOOD_RECALL:
        return True, f"rebuild: only {found}, less than {GOOD_RECALL:.0%}; {changed}."
    if gaps > MOST_GAPS:
        return True, f"rebuild: {gaps:.0%} of the stored vectors belong to removed items and take up space."
    return False, f"no rebuild needed: {changed}, and {found}."
