"""Training on what people have: settings that suit it, the training itself, and what it gained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from foldwalk.core.errors import BadInput
from foldwalk.core.types import Float32Array
from foldwalk.core.vector_files import VectorFile, write_vector_file
from foldwalk.learn.mining.sizes import suited_sizes
from foldwalk.learn.trainer.before import check_packages
from foldwalk.learn.trainer.config import Config, make_config, over
from foldwalk.learn.trainer.evaluation import evaluate_embedding
from foldwalk.learn.trainer.export import NetworkPictures, export_onnx
from foldwalk.learn.trainer.inputs import Inputs, sees_pictures, split_material
from foldwalk.learn.trainer.job import Job, Trained, export_pictures
from foldwalk.learn.trainer.material import Material, check_material, hold_out
from foldwalk.learn.trainer.network_model import NetworkModel, chosen_network
from foldwalk.learn.trainer.processes import is_main
from foldwalk.learn.trainer.sources import describe_material, readable_material
from foldwalk.learn.trainer.vector_model import export_vectors
from foldwalk.learn.trainings import training_class

HELD_OUT = 0.25  # of the classes, where there are labels
DIM = 512
OF_PICTURES, OF_VECTORS = "model.onnx", "head.onnx"
AT_ONCE = 4096
# The backbones whose features a head can be joined to, and how they pool; not those of several sizes.
POOLINGS = {"effnet_lite0": "gap", "effnet_lite0:rmac": "rmac"}
Sections = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was trained on what, with what settings. `before` are the figures of the features as they were."""

    config: Config
    material: Material
    train: Inputs
    test: Inputs | None
    trained: Trained
    before: dict[str, float]
    written: tuple[str, ...]

    @property
    def after(self) -> dict[str, float]:
        return {name: value for name, value in self.trained.history[-1].items() if name in self.before}


def check_sections(told: Sections, material: Material) -> Config:
    """What was asked for, refused before the work where it cannot be."""
    if set(told.get("data", {})) - {"held_out"}:
        raise BadInput(f"{material.place} is what is trained on; of [data] only held_out goes with it.")
    config = make_config(told)
    if config.model.kind == "conv":
        raise BadInput("model.kind conv is for data sets of grey pixels; choose linear, mlp or last_blocks.")
    if sees_pictures(config.model) and material.paths is None:
        raise BadInput(
            f"such a model is trained on pictures, but those of {material.place} are not there; leave out "
            f"model.kind, network and pooling for a head on its vectors."
        )
    return config


def run_own(name: str, told: Sections, material: Material, folder: Path) -> Outcome:
    """Train on material and write the log, the model and, of vectors, what they became."""
    needs_labels = training_class(name).needs_labels
    model = check_sections(told, material).model
    check_packages(name, exports=True)
    material = check_material(material, name, needs_labels)
    if sees_pictures(model):
        material = readable_material(material)
    elif material.vectors is None:
        material = describe_material(material)
    material = check_material(material, name, needs_labels)
    share = told.get("data", {}).get("held_out", HELD_OUT)
    train, test = split_material(material, model, hold_out(material, share, needs_labels)[1])
    config = make_config(suited(name, told, material, train))
    before = {} if test is None else evaluate_embedding(test.features, test.classes, clustering=False)
    trained = config.chosen(name).run(Job(config, train, test, folder))
    written = _export(trained, config, material, folder) if is_main() else ()
    return Outcome(config, material, train, test, trained, before, written)


def suited(name: str, told: Sections, material: Material, train: Inputs) -> dict[str, Any]:
    """The sections with what suits the material wherever nothing is told."""
    defaults: dict[str, Any] = {
        "data": {"train": material.place, "test": "", "held_out": HELD_OUT},
        "model": {"dim": min(DIM, train.features.shape[1])},
        "training": {"clustering": False},
    }
    fields = training_class(name).Parameters.model_fields
    if "miner" in fields:
        defaults[name] = {"miner": suited_sizes(train.features)}
    if "classes" in fields:
        most = int(fields["classes"].default)
        defaults[name] = {"classes": min(most, len(np.unique(train.classes)))}
    return over(defaults, told)


def _export(trained: Trained, config: Config, material: Material, folder: Path) -> tuple[str, ...]:
    """A backbone, where it is known how pictures became features; else a model of vectors, and theirs."""
    m = config.model
    if m.kind in ("last_blocks", "whole"):
        export_pictures(trained, config, folder / OF_PICTURES)
        return (OF_PICTURES,)
    if sees_pictures(m) or material.backbone in POOLINGS:
        pooling = m.pooling or POOLINGS.get(material.backbone or "", "")
        named = chosen_network(m.model_copy(update={"pooling": pooling}))
        export_onnx(NetworkPictures(NetworkModel(*named, trained.model.cpu())), folder / OF_PICTURES)
        return (OF_PICTURES,)
    assert material.vectors is not None
    export_vectors(trained.model, material.vectors.shape[1], folder / OF_VECTORS)
    labels = None if material.labels is None else np.array([label or "" for label in material.labels])
    metadata = None if material.metadata is None else list(material.metadata)
    learned = VectorFile(embedded(trained.model, material.vectors), list(material.keys), metadata, labels)
    write_vector_file(folder / "features.npz", learned)
    return (OF_VECTORS, "features.npz")


@torch.no_grad()
def embedded(model: nn.Module, vectors: Float32Array) -> Float32Array:
    """Unit vectors that a trained head makes of others."""
    model.eval()
    parts = []
    for start in range(0, len(vectors), AT_ONCE):
        some = torch.from_numpy(np.array(vectors[start : start + AT_ONCE], dtype=np.float32))
        parts.append(functional.normalize(model(some)).numpy())
    return np.asarray(np.concatenate(parts), dtype=np.float32)
