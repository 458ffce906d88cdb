"""A backbone that sees a map of local features, pools it into one vector, at one scale or several."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from PIL import Image

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float32Array, IntArray
from foldwalk.descriptors import pooling as pool
from foldwalk.descriptors.backbones.base import Backbone
from foldwalk.descriptors.backbones.options import check_choice, check_scales
from foldwalk.descriptors.backbones.resize import FITS, fitted
from foldwalk.descriptors.whitening import Whitening

Bytes = npt.NDArray[np.uint8]
POOLINGS = {"gap": pool.gap, "mac": pool.mac, "gem": pool.gem, "rmac": pool.rmac}
AT_ONCE = 4  # few enough for the maps between the layers to stay in the processor's cache


class SpatialBackbone(Backbone):
    """Pictures, resized, to maps (`_run`), to vectors.

    Several `scales` describe the picture at each of these multiples of the size; the l2-normalised vectors
    are summed. A fitted `whitening` is applied to the vector, in R-MAC to the vector of each region.
    """

    box: tuple[int, int]
    has_map = True
    poolings: ClassVar[Mapping[str, Callable[[Float32Array], Float32Array]]] = POOLINGS
    at_once = AT_ONCE

    def __init__(self, fit: str, pooling: str, scales: Sequence[float], whitening: Whitening | None) -> None:
        self.fit = check_choice("fit", fit, FITS)
        self.pooling = check_choice("pooling", pooling, self.poolings)
        self.scales = check_scales(scales)
        self.whitening = whitening

    @property
    def settings(self) -> str:
        """The part of the identity that is not the model's own."""
        scales = ",".join(f"{scale:.4g}" for scale in self.scales)
        parts = [f"{self.fit} {self.box[0]}x{self.box[1]}", self.pooling, f"scales {scales}"]
        if self.whitening is not None:
            parts.append(f"whitened {self.whitening.fingerprint}")
        return "; ".join(parts)

    @property
    def boxes(self) -> list[tuple[int, int]]:
        """The box at every scale."""
        return [(round(self.box[0] * s), round(self.box[1] * s)) for s in self.scales]

    def prepare(self, picture: Image.Image) -> list[Bytes]:
        """The picture at every scale, (height, width, 3) each."""
        return [np.asarray(fitted(picture.convert("RGB"), box, self.fit)) for box in self.boxes]

    def embed_prepared(self, prepared: Sequence[list[Bytes]]) -> Float32Array:
        total = np.zeros((len(prepared), self.dim), dtype=np.float32)
        for scale in range(len(self.scales)):
            vectors = np.empty_like(total)
            for rows, maps in self._maps_by_shape([sizes[scale] for sizes in prepared]):
                vectors[rows] = self._pooled(maps)
            total += vectors if len(self.scales) == 1 else pool.unit(vectors)
        return total

    def maps(self, pictures: Sequence[Image.Image]) -> Float32Array:
        """The local features at the first scale, (n, channels, height, width)."""
        self._need_map()
        found = list(self._maps_by_shape([self.prepare(picture)[0] for picture in pictures]))
        if len({maps.shape[1:] for _, maps in found}) != 1:
            raise BadInput(
                "the pictures give maps of several shapes; hand them in one by one, or use fit='squash'."
            )
        out = np.empty((len(pictures), *found[0][1].shape[1:]), dtype=np.float32)
        for rows, maps in found:
            out[rows] = maps
        return out

    def regions(self, pictures: Sequence[Image.Image]) -> list[Float32Array]:
        """The vectors of all R-MAC regions of each picture at all scales, (regions, dim), l2-normalised."""
        self._need_map()
        prepared = [self.prepare(picture) for picture in pictures]
        found: list[list[Float32Array]] = [[] for _ in pictures]
        for scale in range(len(self.scales)):
            for rows, maps in self._maps_by_shape([sizes[scale] for sizes in prepared]):
                for row, vectors in zip(rows, pool.region_vectors(maps, self._whiten), strict=True):
                    found[row].append(vectors)
        return [np.concatenate(parts) for parts in found]

    @abstractmethod
    def _run(self, pictures: Bytes) -> Float32Array:
        """Pictures of one size, (n, height, width, 3), to maps (n, channels, h, w)."""

    def _maps_by_shape(self, pictures: Sequence[Bytes]) -> Iterator[tuple[IntArray, Float32Array]]:
        rows_of: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for row, picture in enumerate(pictures):
            rows_of[picture.shape].append(row)
        for rows in rows_of.values():
            for start in range(0, len(rows), self.at_once):
                some = rows[start : start + self.at_once]
                yield np.array(some), self._run(np.stack([pictures[row] for row in some]))

    def _pooled(self, maps: Float32Array) -> Float32Array:
        if self.pooling == "rmac":
            return pool.rmac(maps, self._whiten)
        vectors = self.poolings[self.pooling](maps)
        return vectors if self.whitening is None else self.whitening.transform(vectors)

    def _need_map(self) -> None:
        if not self.has_map:
            raise BadInput(f"{self.name} gives one vector per picture and has no map of local features.")

    @property
    def _whiten(self) -> pool.Whiten | None:
        return None if self.whitening is None else self.whitening.transform
