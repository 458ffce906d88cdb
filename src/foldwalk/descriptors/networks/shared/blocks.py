"""The parts of a network in order, found by how modules are nested, whatever the network is.

Networks keep their repeated blocks in lists (`ModuleList`, `Sequential`), bare or inside an encoder. What
stands before the first of them is the stem, what stands after the last is the last part.
"""

from __future__ import annotations

from torch import nn

LISTS = (nn.ModuleList, nn.Sequential)
DEEPEST = 3  # a wrapper in a wrapper in a model: blocks do not lie deeper


def parts_of(module: nn.Module) -> list[nn.Module]:
    """Stem, blocks and last part; parts without parameters are left out."""
    marked = _flat(module, DEEPEST)
    places = [place for place, (_, repeated) in enumerate(marked) if repeated]
    if not places:  # nothing is repeated: every child is a block
        return [nn.ModuleList(), *(part for part, _ in marked), nn.ModuleList()]
    before, after = marked[: places[0]], marked[places[-1] + 1 :]
    blocks = [part for part, _ in marked[places[0] : places[-1] + 1]]
    return [_together(before), *blocks, _together(after)]


def _together(marked: list[tuple[nn.Module, bool]]) -> nn.ModuleList:
    return nn.ModuleList([part for part, _ in marked])


def _flat(module: nn.Module, depth: int) -> list[tuple[nn.Module, bool]]:
    """The parts of a module in order, each with whether it is one of a list."""
    found: list[tuple[nn.Module, bool]] = []
    for child in module.children():
        if not _has_parameters(child):
            continue
        if isinstance(child, LISTS):
            found += _of_list(child)
        elif depth and _holds_list(child, depth - 1):
            found += _flat(child, depth - 1)
        else:
            found.append((child, False))
    return found


def _of_list(items: nn.Module) -> list[tuple[nn.Module, bool]]:
    blocks = [item for item in items.children() if _has_parameters(item)]
    return [(block, len(blocks) > 1) for block in blocks]


def _holds_list(module: nn.Module, depth: int) -> bool:
    """Whether a list of blocks is among its children, or theirs."""
    for child in module.children():
        if isinstance(child, LISTS) and len(_of_list(child)) > 1:
            return True
        if depth and _holds_list(child, depth - 1):
            return True
    return False


def _has_parameters(module: nn.Module) -> bool:
    return next(module.parameters(), None) is not None
