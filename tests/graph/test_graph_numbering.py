"""Items numbered along the graph."""

from __future__ import annotations

import numpy as np

from foldwalk.core import Neighbors
from foldwalk.graph import Numbering


def shuffled_ring(n=40, seed=0):
    """Each item's neighbours are the next and the one before on a ring whose items are numbered at random."""
    ring = np.random.default_rng(seed).permutation(n).astype(np.int32)
    ids = np.empty((n, 2), np.int32)
    ids[ring, 0], ids[ring, 1] = np.roll(ring, -1), np.roll(ring, 1)
    return Neighbors(ids, np.tile(np.float32([0.9, 0.8]), (n, 1)))


def test_neighbours_stand_close_together():
    lists = shuffled_ring()
    before = np.abs(lists.ids - np.arange(40)[:, None]).max()
    renumbered = Numbering.along(lists).neighbors(lists)
    assert before > 20
    assert np.abs(renumbered.ids - np.arange(40)[:, None]).max() == 2


def test_places_and_items_are_inverse():
    lists = shuffled_ring()
    numbering = Numbering.along(lists)
    assert (numbering.order[numbering.place] == np.arange(40)).all()
    renumbered = numbering.neighbors(lists)
    assert (numbering.order[renumbered.ids[numbering.place]] == lists.ids).all()
    assert (renumbered.similarities == lists.similarities).all()


def test_no_neighbour_stays_none():
    lists = Neighbors(np.int32([[2, -1], [-1, -1], [0, -1]]), np.float32([[1, 0], [0, 0], [1, 0]]))
    numbering = Numbering(np.int32([2, 1, 0]))
    assert numbering.neighbors(lists).ids.tolist() == [[2, -1], [-1, -1], [0, -1]]
