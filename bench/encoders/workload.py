"""What is computed: every engine gets the same token ids."""
from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from bench.encoders.shapes import VOCABULARY, Shape

_FIRST_ID = 16  # Smaller ones are those of special tokens.
_QUERY_TOKENS = 12  # With the special tokens around it.
COMPARED_VALUES = 8  # So many values at the beginning of each result are compared with those of another engine.


@dataclass(frozen=True)
class Workload:
    name: str
    title: str
    embeds: bool
    count: int
    tokens: tuple[int, int]  # The fewest and the most of a text or of a pair. Lengths between them are equally frequent.
    target: float  # Seconds of the fastest other engine over scorecast's.
    repeats: int = 1  # In a round, whose figure is the median.

    def lengths(self) -> list[int]:
        """In random order, the same in each run."""
        least, most = self.tokens
        lengths = [round(least + (most - least) * (i + 0.5) / self.count) for i in range(self.count)]
        random.Random(1).shuffle(lengths)
        return lengths


WORKLOADS = {workload.name: workload for workload in (
    Workload("pairs", "50 pairs of 40 to 260 tokens", False, 50, (40, 260), 1.2),
    Workload("pair", "one pair of 150 tokens", False, 1, (40, 260), 1.0, repeats=9),
    Workload("texts", "256 texts of 20 to 120 tokens", True, 256, (20, 120), 1.2),
)}


@dataclass(frozen=True)
class Measured:
    """What an engine took for a workload."""

    seconds: float
    cpu_seconds: float  # All threads count, and so do those that wait without sleeping.
    values: list[float]  # The first COMPARED_VALUES of each result.


@dataclass(frozen=True)
class Text:
    """A text, or a pair, with all special tokens."""

    first: list[int]  # The query of a pair, which has token type 0.
    second: list[int]  # The document of a pair, which has token type 1.

    @property
    def ids(self) -> list[int]:
        return self.first + self.second


def texts_of(workload: Workload, shape: Shape) -> list[Text]:
    """Random texts, or pairs that have one query."""
    return _texts(workload.lengths(), workload.embeds, shape, random.Random(2))


def ranking_of(number: int, documents: int, shape: Shape) -> list[Text]:
    """A random query with so many random documents of 8 to 24 tokens."""
    order = random.Random(number)
    return _texts([_QUERY_TOKENS + order.randint(8, 24) for _ in range(documents)], False, shape, order)


def _texts(lengths: Sequence[int], embeds: bool, shape: Shape, order: random.Random) -> list[Text]:
    special = shape.special

    def ids(count: int) -> list[int]:
        return [order.randrange(_FIRST_ID, VOCABULARY) for _ in range(count)]

    if embeds:
        return [Text([special.begin, *ids(length - 2), special.end], []) for length in lengths]
    ends = [special.end] * special.middle
    query = [special.begin, *ids(_QUERY_TOKENS - 1 - len(ends)), *ends]
    return [Text(query, [*ids(length - _QUERY_TOKENS - 1), special.end]) for length in lengths]


def batches(texts: Sequence[Text], size: int) -> list[list[int]]:
    """The texts by their places, longest first, so many at once: as sentence-transformers pads them."""
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i].ids))
    return [order[begin:begin + size] for begin in range(0, len(order), size)]
