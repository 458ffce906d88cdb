"""The toy example of GRAD-Net (figure 4) as a picture: `python -m benchmarks.gradnet.pami [--out FILE]`.

1,500 points spell PAMI. Upper row: the points in the colour of the query (star) that ranks them highest, by
Euclidean distance, then by the features at the start, on the way and at the end of training. Lower row: t-SNE
of the points and of the learned features, coloured by letter, and the precision while learning.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.manifold import TSNE

from foldwalk import datasets, rerank
from foldwalk.core import Ranking, Vectors
from foldwalk.learn import GradNet
from foldwalk.neighbors.exact import exact_search
from foldwalk.report.plots import QUERY_COLOURS, nearest_query
from harness import ROOT, save

matplotlib.use("Agg")
from matplotlib import pyplot as plt

OUT = ROOT / "docs" / "images" / "gradnet-pami.png"
EPOCHS = 100


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=OUT)
    target = parser.parse_args().out
    data = datasets.load("pami")
    points, letters = data.gallery, np.asarray(data.labels)
    # One query a letter: the member nearest to its letter's middle.
    queries = np.array(
        [
            members[np.linalg.norm(points[members] - points[members].mean(axis=0), axis=1).argmin()]
            for members in (np.flatnonzero(letters == letter) for letter in "PAMI")
        ]
    )
    kept: dict[int, np.ndarray] = {}
    curve: list[tuple[int, float]] = []

    def listen(epoch: object) -> None:
        number = epoch.number  # type: ignore[attr-defined]
        if number in (1, 20) or number % 20 == 0:
            features = epoch.features()  # type: ignore[attr-defined]
            curve.append((number, mean_precision(ranked(features))))
            if number in (1, 20, EPOCHS):
                kept[number] = features

    def ranked(features: np.ndarray) -> Ranking:
        vectors = Vectors(np.ascontiguousarray(features))
        found = exact_search(vectors, vectors, len(vectors) - 1, "cosine", np.arange(len(vectors)))
        return Ranking(found.ids.astype(np.int64), found.similarities)

    def mean_precision(ranking: Ranking) -> float:
        return 100 * float(data.protocol.evaluate(ranking)["mAP"])

    plain = rerank.create("plain", metric="euclidean").fit(points).rank_self(len(points) - 1)
    net = GradNet(metric="euclidean", epochs=EPOCHS, codebooks=1, rounds=1).fit(points, listener=listen)
    rankings = {"Euclidean distance": plain}
    rankings |= {f"GRAD-Net, epoch {number}": ranked(features) for number, features in kept.items()}

    figure, axes = plt.subplots(2, 4, figsize=(20, 7.5), layout="constrained")
    hues = np.array([matplotlib.colors.to_rgb(colour) for colour in QUERY_COLOURS])
    for panel, (title, ranking) in zip(axes[0], rankings.items(), strict=False):
        nearest, place = nearest_query(
            queries, Ranking(ranking.ids[queries], ranking.scores[queries]), len(points)
        )
        strength = 0.1 + 0.9 * place[:, None] ** 2
        panel.scatter(*points.T, s=6, c=strength * hues[nearest] + (1 - strength) * 0.9, linewidths=0)
        panel.scatter(*points[queries].T, s=200, marker="*", c=hues, edgecolors="black", zorder=3)
        panel.set_title(f"{title}: mAP {mean_precision(ranking):.1f}")
        panel.set_aspect("equal")
        panel.set_axis_off()
    letter_hues = hues[["PAMI".index(letter) for letter in letters]]
    for panel, (title, features) in zip(
        axes[1],
        {"t-SNE of the points": points, "t-SNE of the learned features": net.features}.items(),
        strict=False,
    ):
        panel.scatter(
            *TSNE(random_state=0, init="pca").fit_transform(features).T, s=6, c=letter_hues, linewidths=0
        )
        panel.set_title(title)
        panel.set_axis_off()
    axes[1, 2].plot(*zip(*curve, strict=True), marker=".")
    axes[1, 2].set(xlabel="epoch", ylabel="mAP", title="precision while learning (labels are only watched)")
    axes[1, 3].set_axis_off()
    figure.savefig(target, dpi=80, metadata={"Software": None})
    print(f"written: {target}")
    reached = {title: round(mean_precision(ranking), 2) for title, ranking in rankings.items()}
    save("gradnet_pami", {"k": net.k, "results": reached})
    print(net.k, reached)


if __name__ == "__main__":
    main()
