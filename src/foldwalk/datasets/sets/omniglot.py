"""Omniglot: handwritten characters, each drawn by twenty people.

Read from the published archives, or from the folders inside them. Characters that two archives share are
counted once. Pictures in an archive are read from it and never unpacked. Raw pixels are the pictures brought
from 105 x 105 to 28 x 28, as grey values of the published pictures (dark ink on white).
"""

from __future__ import annotations

import io
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from foldwalk.core.errors import BadInput
from foldwalk.datasets.class_sources import ClassSource, Pictures
from foldwalk.datasets.dataset import GreyPictures
from foldwalk.datasets.published_files import need_file, picture_names, safe_name

MEMBER = re.compile(r"[^/]+/(?P<character>[^/]+/character\d+)/(?P<file>\d+_\d+\.png)")
SIDE = 105
LARGEST_MEMBER = 2**16  # bytes; the published pictures have about 300


class Omniglot(ClassSource):
    name = "omniglot"
    title = "Omniglot, small background sets"
    what = "4,840 pictures of 242 characters of 8 alphabets"
    source = "the omniglot project of Brenden Lake on GitHub: images_background_small1.zip and _small2.zip"
    reference = (
        "Lake, Salakhutdinov, Tenenbaum: Human-level concept learning through probabilistic program "
        "induction, Science 2015"
    )
    folders = ("omniglot", "omniglot/python")
    holds = ("images_background_small1", "images_background_small1.zip")
    parts: tuple[str, ...] = ("images_background_small1", "images_background_small2")
    pixel_size = (28, 28)

    def pictures(self, folder: Path) -> Pictures:
        if all((folder / part).is_dir() for part in self.parts):
            return self._from_folders(folder)
        for part in self.parts:
            need_file([folder / f"{part}.zip"], f"a part of {self.name}")
        return self._from_archives(folder)

    def _from_folders(self, folder: Path) -> Pictures:
        drawings: dict[tuple[str, str], str] = {}
        for part in self.parts:
            for name in picture_names(folder / part):
                found = MEMBER.fullmatch(f"{part}/{name}")
                if found is not None:
                    drawings.setdefault((found["character"], found["file"]), f"{part}/{name}")
        keys = sorted(drawings)
        return Pictures([drawings[key] for key in keys], [character for character, _ in keys], folder)

    def _from_archives(self, folder: Path) -> Pictures:
        drawings: dict[tuple[str, str], GreyPictures] = {}
        for part in self.parts:
            for character, file, picture in _members(folder / f"{part}.zip", drawings):
                drawings[character, file] = picture
        keys = sorted(drawings)
        names = [f"{character}/{file}" for character, file in keys]
        arrays = np.stack([drawings[key] for key in keys]) if keys else None
        return Pictures(names, [character for character, _ in keys], arrays=arrays)


class OmniglotBackground(Omniglot):
    name = "omniglot-background"
    title = "Omniglot, background set"
    what = "19,280 pictures of 964 characters of 30 alphabets"
    source = "the omniglot project of Brenden Lake on GitHub: images_background.zip"
    holds = ("images_background", "images_background.zip")
    parts = ("images_background",)


class OmniglotEvaluation(Omniglot):
    name = "omniglot-evaluation"
    title = "Omniglot, evaluation set"
    what = "13,180 pictures of 659 characters of 20 alphabets"
    source = "the omniglot project of Brenden Lake on GitHub: images_evaluation.zip"
    holds = ("images_evaluation", "images_evaluation.zip")
    parts = ("images_evaluation",)


def _members(
    path: Path, known: dict[tuple[str, str], GreyPictures]
) -> Iterator[tuple[str, str, GreyPictures]]:
    """The drawings of an archive that are not known yet."""
    try:
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                found = MEMBER.fullmatch(safe_name(member.filename, path))
                if found is None or (found["character"], found["file"]) in known:
                    continue
                if member.file_size > LARGEST_MEMBER:
                    raise BadInput(f"{path} holds {member.filename}, which is too large for a drawing.")
                with archive.open(member) as file:
                    yield found["character"], found["file"], _decode(file.read(LARGEST_MEMBER), path)
    except (zipfile.BadZipFile, zlib.error, OSError, RuntimeError, EOFError) as error:
        raise BadInput(f"{path} is not a whole archive ({error}); get it again.") from None


def _decode(content: bytes, path: Path) -> GreyPictures:
    try:
        with Image.open(io.BytesIO(content), formats=["PNG"]) as picture:
            # The size is known before anything is decoded.
            grey = np.asarray(picture.convert("L")) if picture.size == (SIDE, SIDE) else None
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise BadInput(f"{path} holds a drawing that cannot be decoded: {error}.") from None
    if grey is None:
        raise BadInput(f"{path} holds a drawing that is not {SIDE} x {SIDE}.")
    return grey


SOURCES = (Omniglot(), OmniglotBackground(), OmniglotEvaluation())
