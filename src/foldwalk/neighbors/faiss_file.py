"""Vectors as a FAISS index in one file, for programs that search with FAISS."""

from __future__ import annotations

from pathlib import Path

import faiss

from foldwalk.core.vectors import Vectors
from foldwalk.core.whole_files import written_whole

SUFFIXES = (".faiss", ".index")


def write_flat_index(path: Path, vectors: Vectors, metric: str = "cosine") -> Path:
    """A flat index, exact: of inner products of vectors of length one, which are cosines, or of distances."""
    cosine = metric == "cosine"
    index = faiss.IndexFlatIP(vectors.dim) if cosine else faiss.IndexFlatL2(vectors.dim)
    index.add((vectors.unit() if cosine else vectors).values)
    with written_whole(path) as file:
        file.write(faiss.serialize_index(index).data)
    return path
