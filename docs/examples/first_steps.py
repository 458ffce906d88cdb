"""First steps in Python: rank a gallery, plainly and along its graph, and measure both."""

from foldwalk import datasets, rerank

data = datasets.load("synthetic")  # 1,000 vectors and 100 queries, drawn on the spot

plain = rerank.create("plain").fit(data.gallery)
walk = rerank.create("manifold_ranking", k=5).fit(data.gallery)

for method in (plain, walk):
    ranking = method.rank(data.queries, top=1000)
    figures = data.protocol.evaluate(ranking)
    print(f"{method.name}: mAP {figures['mAP']:.3f}")
