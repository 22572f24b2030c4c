"""How well a precision agrees with float32: cosines of vectors, and rankings of documents."""
from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations
from statistics import mean

from bench.encoders.server import Server
from bench.encoders.shapes import Shape
from bench.encoders.workload import WORKLOADS, ranking_of, texts_of
from bench.progress import progress

_RANKINGS = 200
_DOCUMENTS = 8  # In each ranking.


@dataclass
class Agreement:
    """The results of one shape and dtype. An embedder has no rankings, and a classifier no vectors."""

    shape: str
    dtype: str
    vectors: list[list[float]] = field(default_factory=list)
    rankings: list[list[float]] = field(default_factory=list)  # The scores of each ranking's documents.


def ask(server: Server, shape: Shape, dtype: str, embeds: bool) -> Agreement:
    progress(f"encoders: agreement of {shape.name}, {dtype}")
    if embeds:
        return Agreement(shape.name, dtype, vectors=server.results(texts_of(WORKLOADS["texts"], shape), True))
    rankings = [server.results(ranking_of(number, _DOCUMENTS, shape), False) for number in range(_RANKINGS)]
    return Agreement(shape.name, dtype, rankings=[[scores[0] for scores in ranking] for ranking in rankings])


def compare(results: Sequence[Agreement]) -> list[dict[str, str]]:
    """Rows of a table: each shape and dtype but f32, which must be among the results."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for result in results:
        reference = next(r for r in results if r.shape == result.shape and r.dtype == "f32" and bool(r.vectors) == bool(result.vectors))
        if reference is result:
            continue
        row = rows.setdefault((result.shape, result.dtype), {"shape": result.shape, "dtype": result.dtype})
        if result.vectors:
            cosines = [_cosine(a, b) for a, b in zip(result.vectors, reference.vectors, strict=True)]
            row |= {"cosine: mean": f"{mean(cosines):.6f}", "cosine: least": f"{min(cosines):.6f}"}
        else:
            pairs = list(zip(result.rankings, reference.rankings, strict=True))
            taus = [_kendall_tau(a, b) for a, b in pairs]
            same_first = sum(a.index(max(a)) == b.index(max(b)) for a, b in pairs)
            row |= {"Kendall's tau: mean": f"{mean(taus):.3f}", "tau: least": f"{min(taus):.3f}",
                    "same document first": f"{same_first} of {len(pairs)}"}
    return list(rows.values())


def _cosine(a: Sequence[float], b: Sequence[float]) -> float:
    return sum(map(float.__mul__, a, b)) / math.sqrt(sum(x * x for x in a) * sum(x * x for x in b))


def _kendall_tau(a: Sequence[float], b: Sequence[float]) -> float:
    """(concordant - discordant) / pairs. A tie in one of the two counts as neither."""
    products = [(a[i] - a[j]) * (b[i] - b[j]) for i, j in combinations(range(len(a)), 2)]
    return sum((product > 0) - (product < 0) for product in products) / len(products)
