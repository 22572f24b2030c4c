"""The side of an engine in Python: it computes workloads in padded batches, whose size is the best of several."""
from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.encoders.shapes import SHAPES, Shape
from bench.encoders.workload import COMPARED_VALUES, WORKLOADS, Text, Workload, batches, texts_of
from bench.peers import worker_loop

# sentence-transformers takes 32, unless it is told otherwise. Fewer need less padding.
_BATCH_SIZES = (1, 4, 8, 16, 32)
_TRIALS = 2  # Of each size, of which the faster one counts.
_HOPELESS = 1.15  # A size that takes so many times as long as the best one has no other trial.

Compute = Callable[["Batch"], np.ndarray]  # Returns [texts, labels or hidden].


@dataclass
class Batch:
    """Arrays of int64 [texts, tokens of the longest]."""

    ids: np.ndarray
    mask: np.ndarray
    types: np.ndarray | None  # None if the model has no types.

    def arrays(self) -> dict[str, np.ndarray]:
        """By the names of transformers' arguments."""
        types = {} if self.types is None else {"token_type_ids": self.types}
        return {"input_ids": self.ids, "attention_mask": self.mask, **types}


def pad(texts: list[Text], shape: Shape) -> Batch:
    longest = max(len(text.ids) for text in texts)
    size = (len(texts), longest)
    batch = Batch(np.full(size, shape.special.pad), np.zeros(size, np.int64), np.zeros(size, np.int64) if shape.has_types else None)
    for row, text in enumerate(texts):
        count = len(text.ids)
        batch.ids[row, :count] = text.ids
        batch.mask[row, :count] = 1
        if batch.types is not None:
            batch.types[row, len(text.first):count] = 1
    return batch


class _Pass:
    """A workload in batches of a size. Padding is not timed."""

    def __init__(self, compute: Compute, workload: Workload, shape: Shape, size: int) -> None:
        self._compute = compute
        self._columns = COMPARED_VALUES if workload.embeds else 1
        self._texts = texts_of(workload, shape)
        self._places = batches(self._texts, size)
        self._padded = [pad([self._texts[i] for i in batch], shape) for batch in self._places]

    def run(self) -> np.ndarray:
        results = np.empty((len(self._texts), self._columns), np.float32)
        for batch, rows in zip(self._padded, self._places):
            results[rows] = self._compute(batch)[:, :self._columns]
        return results

    def seconds_per_token(self) -> float:
        """Of some batches, which are evenly spread over the lengths of texts. Padding counts as no token."""
        step = 4 if len(self._padded) >= 8 else 2 if len(self._padded) >= 4 else 1
        sample = self._padded[step // 2::step]
        begin = time.perf_counter()
        for batch in sample:
            self._compute(batch)
        return (time.perf_counter() - begin) / sum(int(batch.mask.sum()) for batch in sample)


def _fastest(compute: Compute, workload: Workload, shape: Shape) -> Callable[[], np.ndarray]:
    best, best_seconds = None, float("inf")
    for size in _BATCH_SIZES:
        trial = _Pass(compute, workload, shape, size)
        for _ in range(_TRIALS):
            seconds = trial.seconds_per_token()
            if seconds < best_seconds:
                best, best_seconds = trial, seconds
            elif seconds > _HOPELESS * best_seconds:
                break
        if size >= workload.count:
            break
    assert best
    return best.run


def worker_flags(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", type=Path, required=True, help="the model in the engine's format")
    parser.add_argument("--shape", choices=list(SHAPES), required=True)
    parser.add_argument("--dtype", choices=["f32", "bf16", "int8"], required=True)
    parser.add_argument("--threads", type=int, required=True)
    return parser


def serve(info: dict[str, Any], compute: Compute, shape: Shape) -> None:
    """Replies to lines with a workload's name. The first reply to a name takes long, because batch sizes are tried."""
    worker_loop.serve(info, lambda workload: _fastest(compute, workload, shape), WORKLOADS.__getitem__)
