"""Pictures that are read when they are needed: files, of which only a batch or two are in memory.

What is drawn for a picture depends on the seed, the epoch, the batch and its place in it, and not on who
reads it: any number of processes gives the same batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from foldwalk.core.digests import digest_of
from foldwalk.core.errors import BadInput, MissingData
from foldwalk.core.seeds import generator
from foldwalk.core.types import IntArray
from foldwalk.descriptors.decode import load_picture
from foldwalk.descriptors.limits import Unreadable
from foldwalk.descriptors.networks.preprocessing import Preprocessing
from foldwalk.learn.trainer.augment import Augment, augmented
from foldwalk.learn.trainer.batches import Part

Key = tuple[int, str]  # an item, and what its random numbers are for; nothing is drawn for ""


@dataclass(frozen=True, eq=False)
class PictureFiles:
    """A source of batches (n, height, width, 3) of bytes; see `batches.Source`."""

    paths: Sequence[Path]
    preprocessing: Preprocessing
    augment: Augment = field(default_factory=Augment)
    seed: int = 0
    readers: int = 0
    at_once: int = 64

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, rows: IntArray) -> PictureFiles:
        return replace(self, paths=[self.paths[row] for row in rows])

    def for_training(self, epoch: int, parts: Sequence[Part]) -> Iterator[Tensor]:
        drawn = [
            [
                (int(item), f"epoch {epoch} batch {number} place {place}")
                for item, place in zip(*part, strict=True)
            ]
            for number, part in enumerate(parts)
        ]
        return self._read(drawn)

    def as_they_are(self, parts: Sequence[IntArray]) -> Iterator[Tensor]:
        return self._read([[(int(item), "") for item in items] for items in parts])

    def fingerprint(self) -> str:
        """By names and sizes: pictures may move to another folder or machine."""
        try:
            told = "\n".join(f"{path.name} {path.stat().st_size}" for path in self.paths)
        except OSError as error:
            raise MissingData(f"{error.filename} cannot be read: {error.strerror}.") from None
        return f"{len(self)} pictures {digest_of(told.encode(errors='surrogateescape'))[:16]}"

    def _read(self, batches: list[list[Key]]) -> Iterator[Tensor]:
        loader: DataLoader[Any] = DataLoader(
            _Opened(self),
            batch_sampler=batches,
            num_workers=min(self.readers, len(batches)),
            collate_fn=_batch,
            generator=torch.Generator(),  # its own: the loader draws a number that it has no use for here
        )
        for batch in loader:
            if isinstance(batch, str):
                raise BadInput(batch)
            yield batch


class _Opened(Dataset[Any]):
    """One picture by its key, or a sentence on why it cannot be read: an error would lose it on its way."""

    def __init__(self, files: PictureFiles) -> None:
        self.files = files

    def __getitem__(self, key: Key) -> Tensor | str:
        item, purpose = key
        files, path = self.files, self.files.paths[item]
        try:
            picture = load_picture(path, short_side=2 * files.preprocessing.size)
        except Unreadable as reason:
            return f"{path} cannot be trained on: {str(reason).rstrip('.')}; remove it or mend it."
        if not purpose:
            return torch.tensor(files.preprocessing.prepare(picture))
        return torch.tensor(
            augmented(picture, files.augment, files.preprocessing, generator(files.seed, purpose))
        )


def _batch(pictures: list[Tensor | str]) -> Tensor | str:
    bad = next((picture for picture in pictures if isinstance(picture, str)), None)
    return torch.stack(pictures) if bad is None else bad  # type: ignore[arg-type]
