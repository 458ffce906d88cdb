"""Any model in an ONNX file, run by ONNX Runtime.

The input's shape, layout and type are read from the file. An output of four dimensions is a map of local
features and is pooled; one of two dimensions is the vector itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from foldwalk.core.errors import BadInput, BadParameter, MissingData, one_line
from foldwalk.core.json_text import read_json_object
from foldwalk.core.types import AnyArray, Float32Array
from foldwalk.descriptors.backbones import register
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.backbones.options import check_box, check_choice, check_threads
from foldwalk.descriptors.backbones.resize import FITS
from foldwalk.descriptors.backbones.spatial import Bytes, SpatialBackbone
from foldwalk.descriptors.networks.preprocessing import Preprocessing
from foldwalk.descriptors.whitening import Whitening

Numbers = float | Sequence[float]
# What is subtracted from pixels of 0 to 255, and what they are divided by then.
NORMALISATIONS: dict[str, tuple[Numbers, Numbers]] = {
    "imagenet": ((123.675, 116.28, 103.53), (58.395, 57.12, 57.375)),
    "unit": (0.0, 255.0),
    "half": (127.5, 127.5),
    "none": (0.0, 1.0),
}
PREPROCESSING = "foldwalk.preprocessing"  # in a file's metadata: a Preprocessing as JSON
FIT = "foldwalk.fit"  # what older files say instead
TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16, "tensor(uint8)": np.uint8}


@register
class OnnxBackbone(SpatialBackbone):
    """An ONNX file. `normalise` is a name of NORMALISATIONS or (subtract, divide) in pixels of 0 to 255.

    What is left out is what the file says itself under PREPROCESSING in its metadata, else "imagenet" and the
    fit "squash".
    """

    name = "onnx"
    summary = "any model in an ONNX file, also those that `foldwalk train` writes"
    named = "the path of an .onnx file"
    example = "model.onnx"
    extra = "images"

    def __init__(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        normalise: str | tuple[Numbers, Numbers] | None = None,
        size: int | tuple[int, int] | None = None,
        fit: str | None = None,
        output: str | None = None,
        pooling: str = "gap",
        scales: Sequence[float] = (1.0,),
        whitening: Whitening | None = None,
        threads: int | None = None,
    ) -> None:
        self.path = Path(path)
        self._session = open_session(self.path, threads)
        said = _preprocessing(self.path, self._session.get_modelmeta().custom_metadata_map)
        super().__init__(said.fit if fit is None else fit, pooling, scales, whitening)
        self._how = said.changed(fit=self.fit)
        self.name = name or self.path.stem
        self._subtract, self._divide = _normalisation(normalise or (said.mean, said.std))
        self._read_input(size)
        self._output, example = self._try_output(output)
        self.has_map = example.ndim == 4
        if not self.has_map and (pooling != "gap" or len(self.scales) > 1):
            raise BadParameter(f"{self.path.name} gives vectors, not maps: leave out pooling and scales.")
        channels = int(example.shape[1])
        self.dim = channels if whitening is None else whitening.output_dim(channels)
        self.short_side = 2 * round(max(self.box) * max(self.scales))
        constants = np.concatenate([self._subtract, self._divide])
        self.identity = (
            f"{self.name} {self._weights()}; {self._output}; "
            f"normalised {','.join(f'{c:g}' for c in constants)}; {self.settings}"
        )

    @classmethod
    def claim(cls, model: object) -> tuple[Any, ...] | None:
        return (model,) if isinstance(model, Path) or str(model).endswith(".onnx") else None

    @classmethod
    def lasting(cls, model: object) -> str:
        return str(Path(str(model)).absolute())

    def prepare(self, picture: Image.Image) -> list[Bytes]:
        return [self._how.prepare_in(picture, box) for box in self.boxes]

    def _weights(self) -> str:
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]

    def _read_input(self, size: int | tuple[int, int] | None) -> None:
        """Which axis is which, and whether batch and size are free."""
        entry = self._session.get_inputs()[0]
        if len(self._session.get_inputs()) != 1 or len(entry.shape) != 4 or entry.type not in TYPES:
            raise BadInput(f"{self.path} takes other input than one batch of pictures; export it with one.")
        self._input, self._type = entry.name, TYPES[entry.type]
        fixed = [axis if isinstance(axis, int) else None for axis in entry.shape]
        self._channels_last = fixed[1] not in (1, 3) and fixed[3] in (1, 3)
        channels, height, width = (fixed[3], fixed[1], fixed[2]) if self._channels_last else fixed[1:]
        self._grey, self._batch = channels == 1, fixed[0]
        self.box = check_box("size", (width or 224, height or 224) if size is None else size)
        if (width not in (None, self.box[0])) or (height not in (None, self.box[1])):
            raise BadParameter(f"{self.path.name} takes pictures of {width} x {height} only: leave out size.")
        if (width or height) and (len(self.scales) > 1 or self.fit == "keep"):
            raise BadParameter(f"{self.path.name} takes one size only: leave out scales and fit='keep'.")

    def _try_output(self, wanted: str | None) -> tuple[str, AnyArray]:
        names = [entry.name for entry in self._session.get_outputs()]
        name = names[0] if wanted is None else wanted
        if name not in names:
            raise BadParameter(f"{self.path.name} has no output {name!r}; there are {', '.join(names)}.")
        grey = np.full((1, self.box[1], self.box[0], 3), 127, dtype=np.uint8)
        example = self._run_batch(grey, name)
        if example.ndim not in (2, 4):
            raise BadInput(
                f"{self.path.name}: {name} has {example.ndim} dimensions; choose an output of 2 or 4."
            )
        return name, example

    def _run(self, pictures: Bytes) -> Float32Array:
        step = self._batch or len(pictures)
        parts = [
            self._run_batch(pictures[start : start + step], self._output)
            for start in range(0, len(pictures), step)
        ]
        found = np.concatenate(parts).astype(np.float32, copy=False)
        return found if self.has_map else found[:, :, None, None]

    def _run_batch(self, pictures: Bytes, output: str) -> AnyArray:
        values = pictures.astype(np.float32)
        if self._grey:
            values = values @ np.array([[0.299], [0.587], [0.114]], dtype=np.float32)
        values = (values - self._subtract) / self._divide
        if not self._channels_last:
            values = values.transpose(0, 3, 1, 2)
        missing = (self._batch or len(values)) - len(values)
        values = np.pad(values, [(0, missing), (0, 0), (0, 0), (0, 0)]) if missing else values
        values = np.ascontiguousarray(values, dtype=self._type)
        try:
            found = self._session.run([output], {self._input: values})[0]
        except Exception as error:  # ONNX Runtime has a class for every kind of failure
            raise BadInput(f"{self.path} fails on a picture: {' '.join(str(error).split())}.") from None
        return np.asarray(found)[: len(pictures)]


def open_session(path: Path, threads: int | None = None) -> Any:
    """The model of an ONNX file, ready to run."""
    runtime = need("onnxruntime", "images", f"The backbone {path.name}")
    if not path.is_file():
        raise MissingData(f"{path} does not exist; give the path of an ONNX file.")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = check_threads(threads)
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Threads that spin while they wait would take the cores from those that decode pictures.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return runtime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise BadInput(f"{path} is not an ONNX model: {' '.join(str(error).split())}.") from None


def _preprocessing(path: Path, metadata: Mapping[str, str]) -> Preprocessing:
    if PREPROCESSING not in metadata:
        return Preprocessing(fit=check_choice("fit", metadata.get(FIT, "squash"), FITS))
    try:
        return Preprocessing.from_dict(read_json_object(metadata[PREPROCESSING], PREPROCESSING))
    except (BadInput, TypeError) as error:
        raise BadInput(f"the metadata of {path} cannot be used: {one_line(error)}.") from None


def _normalisation(normalise: str | tuple[Numbers, Numbers]) -> tuple[Float32Array, Float32Array]:
    if isinstance(normalise, str):
        if normalise not in NORMALISATIONS:
            raise BadParameter(
                f"normalise must be one of {', '.join(NORMALISATIONS)} or a pair, but it is {normalise!r}."
            )
        normalise = NORMALISATIONS[normalise]
    try:
        subtract, divide = (np.atleast_1d(np.asarray(part, dtype=np.float32)) for part in normalise)
    except (TypeError, ValueError):
        subtract = divide = np.zeros(0, dtype=np.float32)
    if subtract.shape not in ((1,), (3,)) or divide.shape not in ((1,), (3,)) or not divide.all():
        raise BadParameter(
            f"normalise must be (subtract, divide), 1 or 3 numbers each, but it is {normalise!r}."
        )
    return subtract, divide
