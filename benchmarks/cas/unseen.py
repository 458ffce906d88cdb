"""What an unseen query of CAS loses: beside one that joins the graph alone, and all that join it at once.

    python -m benchmarks.cas.unseen [--datasets orl,mpeg7,grocery,cub_last100] [--alone 200] [--root DATA]

A random tenth of each set asks the rest, mAP in percent. Joining alone is the fair comparison: it takes a fit
for each query, so at most `--alone` of them are judged, the same in every row of the table. The neighbour
lists are those of the gallery with the query put in where it belongs; nothing else is shared.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np

from foldwalk import datasets, rerank
from foldwalk.core import Neighbors, Ranking, Vectors
from foldwalk.evaluate import QueryGallery
from foldwalk.neighbors.exact import exact_search
from foldwalk.rerank.base import Reranker
from harness import alone, save

DATASETS = "orl,mpeg7,grocery,cub_last100"


def joined_by(gallery: Neighbors, query: Neighbors) -> Neighbors:
    """The neighbours of a gallery and of one more item; `query` lists that item's similarities to all."""
    n, k = gallery.ids.shape
    similarity = np.empty(n, np.float32)
    similarity[query.ids[0]] = query.similarities[0]
    ids, similarities = (np.concatenate([a, b[:, :k]]) for a, b in (
        (gallery.ids, query.ids), (gallery.similarities, query.similarities)
    ))  # fmt: skip
    for item in np.flatnonzero(similarity > gallery.similarities[:, -1]):
        place = int((gallery.similarities[item] >= similarity[item]).sum())
        ids[item, place:] = np.insert(ids[item, place:-1], 0, n)
        similarities[item, place:] = np.insert(similarities[item, place:-1], 0, similarity[item])
    assert gallery.least is not None
    assert query.least is not None
    least = np.concatenate([np.minimum(gallery.least, similarity), query.least])
    return replace(gallery, ids=ids, similarities=similarities, least=least)


def joining_alone(method: Reranker, queries: Vectors, gallery: Vectors) -> Ranking:
    """Each query joins the gallery's graph by itself."""
    n, answers = len(gallery), []
    lists = method.neighbors()
    every = exact_search(gallery, queries, n, "cosine")
    for q in range(len(queries)):
        assert every.least is not None
        own = replace(every, ids=every.ids[[q]], similarities=every.similarities[[q]], least=every.least[[q]])
        both = Vectors(np.concatenate([gallery.values, queries.values[[q]]]))
        fresh = rerank.create("cas", **method.get_params())
        fresh.adopt(both, candidates=n, neighbors=joined_by(lists, own))
        answers.append(fresh.rank_rows(np.array([n]), n))
    return Ranking(np.concatenate([a.ids for a in answers]), np.concatenate([a.scores for a in answers]))


def measure(name: str, most: int, root: str | None, parameters: dict[str, Any]) -> dict[str, Any]:
    data = datasets.load(name, root=root)
    asked = np.zeros(len(data.gallery), bool)
    asked[np.random.default_rng(0).permutation(len(asked))[: len(asked) // 10]] = True
    labels = np.asarray(data.labels)
    vectors = Vectors.check(data.gallery).unit().values
    gallery, queries = (Vectors(np.ascontiguousarray(vectors[rows])) for rows in (~asked, asked))
    some = np.sort(np.random.default_rng(1).permutation(len(queries))[:most])

    def score(ranking: Ranking, rows: Any = slice(None)) -> float:
        protocol = QueryGallery(labels[asked][rows], labels[~asked])
        return round(100 * protocol.evaluate(ranking)["mAP"], 2)

    def of_some(ranking: Ranking) -> Ranking:
        return Ranking(ranking.ids[some], ranking.scores[some])

    n = len(gallery)
    method = rerank.create("cas", **parameters).fit(gallery.values)
    unseen = method.rank(queries.values, n)
    together = rerank.create("cas", **parameters).rerank(queries.values, gallery.values, n)
    by_itself = joining_alone(method, Vectors(queries.values[some]), gallery)
    first = of_some(unseen).ids[:, :50]
    shared = [len(np.intersect1d(a, b)) / 50 for a, b in zip(first, by_itself.ids[:, :50], strict=True)]
    return {
        "queries": len(queries),
        "plain": score(rerank.create("plain").fit(gallery.values).rank(queries.values, n)),
        "unseen": score(unseen),
        "joined together": score(together),
        "judged alone": len(some),
        "of these: unseen": score(of_some(unseen), some),
        "of these: joined alone": score(by_itself, some),
        "of these: joined together": score(of_some(together), some),
        "overlap@50 of unseen and joined alone": round(float(np.mean(shared)), 4),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default=DATASETS)
    parser.add_argument("--alone", type=int, default=200)
    parser.add_argument("--root")
    options = parser.parse_args()
    results = {}
    for name in options.datasets.split(","):
        results[name] = alone(measure, name, options.alone, options.root, {})
        print(name, results[name], flush=True)
    save("cas_unseen", {"results": results})


if __name__ == "__main__":
    main()
