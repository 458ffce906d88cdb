"""The two messages of a layer, before their weights (eq. 12 to 15)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from foldwalk.rerank.learned.gradnet.sparse import Selection, SparseMatrix


@dataclass(frozen=True, eq=False)
class Hop:
    """One layer's way from H at Q over S H at M to R; None where a selection would be everything.

    `loop` is the self-loop at M, `inner` S from Q to M, `outer` S from M to R; `middle` are the places of M
    within Q, `ends` the places of R within M. Without the second order M is R.
    """

    loop: Tensor
    inner: SparseMatrix
    outer: SparseMatrix
    middle: Selection | None = None
    ends: Selection | None = None


def diffuse(features: Tensor, hop: Hop, second_order: bool) -> tuple[Tensor, Tensor]:
    """(I + S) H and S (S H * H), the two messages of eq. 16 before their weights."""
    one_step = hop.inner @ features
    middle = features if hop.middle is None else hop.middle.of(features)
    if not second_order:
        return hop.loop * middle + one_step, one_step
    two_steps = hop.outer @ (one_step * middle)
    first = hop.loop * middle + one_step
    return (first if hop.ends is None else hop.ends.of(first)), two_steps
