"""At which size a network should see CUB's 112-pixel pictures: plain features of held-out training classes.

python -m benchmarks.metric_learning.finetune_sizes --root DATA
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from foldwalk import datasets
from foldwalk.core.seeds import generator
from foldwalk.descriptors import backbone
from foldwalk.descriptors.decode import load_picture
from foldwalk.learn.trainer.evaluation import evaluate_embedding, split_classes
from metric_learning import Rows, arguments, markdown, once, write

PER_CLASS = 16
SEEN = ((112, "crop"), (160, "crop"), (224, "crop"), (256, "crop"), (288, "crop"), (224, "squash"))


def main() -> None:
    options = arguments(__doc__ or "").parse_args()
    found = datasets.load("cub_first100", root=options.root, kind="pictures")
    assert found.gallery_paths is not None
    labels = np.asarray(found.labels)
    outside = split_classes(labels, 0.5)[1]
    rng = generator(0, "pictures to compare sizes on")
    some = np.concatenate(
        [
            rng.permutation(outside[labels[outside] == label])[:PER_CLASS]
            for label in np.unique(labels[outside])
        ]
    )
    paths = [Path(found.gallery_paths[item]) for item in some]
    rows: Rows = {"full-size photographs, 224": once(_full_size(options.root, paths, labels[some]))}
    pictures = [load_picture(path) for path in paths]
    for size, fit in SEEN:
        network = backbone("effnet_lite0", size=size, fit=fit, threads=options.threads)
        parts = [network.embed(pictures[start : start + 32]) for start in range(0, len(pictures), 32)]
        rows[f"{size}, {fit}"] = once(evaluate_embedding(np.concatenate(parts), labels[some], False))
        write("metric_learning_finetune_sizes", rows, pictures=len(pictures))
    print(markdown(rows))


def _full_size(root: Path, paths: list[Path], labels: object) -> dict[str, float]:
    """The same pictures among the features that were computed from the photographs themselves."""
    found = datasets.load("cub_first100", root=root, kind="features")
    file = np.load(next((root / "features").glob("cub_first100_*.npz")))
    rows = {str(name): row for row, name in enumerate(file["paths"])}
    assert found.gallery is not None
    return evaluate_embedding(found.gallery[[rows[path.name] for path in paths]], labels, False)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
