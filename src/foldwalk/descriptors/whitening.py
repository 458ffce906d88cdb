"""Whitening: a rotation and scaling after which frequent patterns no longer outweigh the telling ones.

Both kinds work on l2-normalised vectors x and give

    y = P (x - m) / |P (x - m)|,     m the mean of the vectors it was fitted on.

PcaWhitening (Jégou and Chum 2012): P = D^(-1/2) V^T, with the covariance of the vectors C = V D V^T.

LearnedWhitening (Mikolajczyk and Matas 2007; Radenović et al. 2019, section 3.3): from pairs that show the
same thing, C_S = mean of (x_i - x_j)(x_i - x_j)^T over the pairs, then P = R^T C_S^(-1/2) with R the
principal axes of C_S^(-1/2) x: what differs within pairs counts for less.

Both shrink the covariance towards isotropy first, (1 - s) C + s trace(C) / d I, or directions that were
hardly seen would be blown up. The default s is large because that is what helps: frozen features of 1,280
dimensions lose much of their precision when they are whitened fully (see docs/descriptors.md).
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from foldwalk.core.array_files import read_npz
from foldwalk.core.errors import BadInput, BadParameter, MissingData, NotFitted, one_line
from foldwalk.core.estimator import Estimator
from foldwalk.core.json_text import read_json_object
from foldwalk.core.principal import principal
from foldwalk.core.types import Float32Array, Float64Array
from foldwalk.core.vectors import Vectors
from foldwalk.core.whole_files import written_whole

FORMAT = 1


class Whitening(Estimator):
    """What the two kinds share. `dim` is how many dimensions are kept, all of them by default."""

    kind: ClassVar[str]
    default_shrinkage: ClassVar[float]

    def __init__(self, dim: int | None = None, shrinkage: float | None = None) -> None:
        if dim is not None and (isinstance(dim, bool) or not isinstance(dim, int) or dim < 1):
            raise BadParameter(f"dim must be a whole number of at least 1, but it is {dim!r}.")
        if shrinkage is not None and not 0 <= shrinkage <= 1:
            raise BadParameter(f"shrinkage must be from 0 to 1, but it is {shrinkage!r}.")
        self.dim, self.shrinkage = dim, shrinkage
        self._mean: Float32Array | None = None
        self._projection: Float32Array | None = None

    def transform(self, vectors: npt.ArrayLike) -> Float32Array:
        """The whitened vectors, l2-normalised."""
        x = Vectors.check(vectors, "vectors", len(self.mean)).unit().values
        return Vectors(np.asarray((x - self.mean) @ self.projection, dtype=np.float32)).unit().values

    def output_dim(self, input_dim: int) -> int:
        """How many numbers a vector has afterwards; refuses vectors of another size than it was fitted on."""
        if len(self.mean) != input_dim:
            raise BadInput(
                f"the whitening was fitted on {len(self.mean)} dimensions, the vectors have {input_dim}."
            )
        return int(self.projection.shape[1])

    @property
    def mean(self) -> Float32Array:
        """m, the mean of the vectors it was fitted on."""
        return _known(self._mean)

    @property
    def projection(self) -> Float32Array:
        """The transpose of P: one column for each dimension that is kept."""
        return _known(self._projection)

    @property
    def fingerprint(self) -> str:
        """Names what was fitted: two whitenings of one fingerprint do the same."""
        return hashlib.sha256(self.mean.tobytes() + self.projection.tobytes()).hexdigest()[:16]

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a .npz file, whole or not at all."""
        target = Path(path)
        if target.suffix != ".npz":
            raise BadInput(f"{target}: a whitening is saved as .npz.")
        if not target.parent.is_dir():
            raise MissingData(f"{target.parent} is not a folder; create it first.")
        header = {"format": FORMAT, "kind": self.kind, "dim": self.dim, "shrinkage": self._shrinkage}
        mean, projection = self.mean, self.projection
        with written_whole(target) as file:
            np.savez(file, header=np.array(json.dumps(header)), mean=mean, projection=projection)
        return target

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        source = Path(path)
        if not source.is_file():
            raise MissingData(f"{source} does not exist.")
        try:
            arrays = read_npz(source, ("header", "mean", "projection"))
            header = read_json_object(str(arrays["header"]), "its header")
            mean, projection = arrays["mean"], Vectors.check(arrays["projection"], "projection").values
            if (header["format"], header["kind"]) != (FORMAT, cls.kind) or mean.shape != projection.shape[:1]:
                raise BadInput(f"it does not hold a {cls.kind} whitening of this version")
            mean = Vectors.check(mean[None], "mean").values[0]
            made = cls(header["dim"], header["shrinkage"]).adopt(mean, projection)
        except Exception as error:  # broken bytes lead the readers to errors of any kind
            raise BadInput(f"{source} is not a whitening saved by foldwalk: {one_line(error)}.") from None
        return made

    def adopt(self, mean: Float32Array, projection: Float32Array) -> Self:
        """Take a mean and a projection that were fitted before."""
        self._mean, self._projection = mean, projection
        return self

    def _fitted_dim(self) -> int | None:
        return None if self._mean is None else len(self._mean)

    @property
    def _shrinkage(self) -> float:
        return self.default_shrinkage if self.shrinkage is None else self.shrinkage

    def _check(self, vectors: npt.ArrayLike) -> Float64Array:
        x = Vectors.check(vectors, "vectors").unit().values.astype(np.float64)
        if len(x) < 2:
            raise BadInput("a whitening needs at least two vectors.")
        if self.dim is not None and self.dim > x.shape[1]:
            raise BadParameter(f"dim is {self.dim}, but the vectors have {x.shape[1]} dimensions.")
        return x

    def _covariance(self, centred: Float64Array) -> Float64Array:
        """The mean outer product of the rows, shrunk towards isotropy."""
        d = centred.shape[1]
        if not centred.any():
            raise BadInput("the vectors are all the same; there is nothing to whiten.")
        covariance = centred.T @ centred / len(centred)
        isotropic = np.trace(covariance) / d * np.eye(d)
        return np.asarray((1 - self._shrinkage) * covariance + self._shrinkage * isotropic)

    def _keep(self, mean: Float64Array, projection: Float64Array) -> Self:
        kept = np.ascontiguousarray(projection[:, : self.dim], dtype=np.float32)
        return self.adopt(mean.astype(np.float32), kept)


class PcaWhitening(Whitening):
    """Whitens with the principal axes of the vectors it is fitted on."""

    kind = "pca"
    default_shrinkage = 0.98

    def fit(self, vectors: npt.ArrayLike, y: Any = None) -> Self:  # noqa: ARG002
        """Learn mean and axes from the vectors alone; `y` has a place because scikit-learn gives it one."""
        x = self._check(vectors)
        mean = x.mean(axis=0)
        values, axes = principal(self._covariance(x - mean))
        return self._keep(mean, axes * _inverse_root(values))

    def fit_transform(self, vectors: npt.ArrayLike, y: Any = None) -> Float32Array:  # noqa: ARG002
        """Fit, and whiten the same vectors."""
        return self.fit(vectors).transform(vectors)


class LearnedWhitening(Whitening):
    """Whitens what differs between vectors of the same thing."""

    kind = "learned"
    default_shrinkage = 0.8

    def fit(self, vectors: npt.ArrayLike, pairs: npt.ArrayLike) -> Self:
        """`pairs` is (m, 2): rows of `vectors` that show the same thing."""
        x = self._check(vectors)
        rows = np.asarray(pairs)
        if rows.ndim != 2 or rows.shape[1] != 2 or not len(rows) or rows.dtype.kind not in "iu":
            raise BadInput(f"pairs must be whole numbers of shape (m, 2), but the shape is {rows.shape}.")
        if rows.min() < 0 or rows.max() >= len(x):
            raise BadInput(f"pairs must name rows from 0 to {len(x) - 1}.")
        mean = x.mean(axis=0)
        values, axes = principal(self._covariance(x[rows[:, 0]] - x[rows[:, 1]]))
        whitened = axes * _inverse_root(values)
        _, rotation = principal(np.cov((x - mean) @ whitened, rowvar=False).reshape(len(mean), len(mean)))
        return self._keep(mean, whitened @ rotation)


def _known(fitted: Float32Array | None) -> Float32Array:
    if fitted is None:
        raise NotFitted("the whitening has seen no vectors yet: call fit(vectors) first.")
    return fitted


def _inverse_root(values: Float64Array) -> Float64Array:
    """1 / sqrt, and zero for directions in which nothing was seen."""
    seen = values > values[0] * 1e-10
    return np.where(seen, 1 / np.sqrt(np.where(seen, values, 1)), 0)
