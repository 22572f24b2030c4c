"""Workloads: every engine gets the same tokens, packed in the same way."""
from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

LABELS = [5 + i * 499 for i in range(64)]  # The same as in workload_plans.cc.


def load_config(model: Path) -> dict[str, Any]:
    return json.loads((model / "config.json").read_text())


def _tokens(count: int, seed: int, vocab_size: int) -> list[int]:
    """The same ids as Tokens in workload.cc."""
    return [(seed * 7919 + i * 104729 + 11) % vocab_size for i in range(count)]


@dataclass
class Workload:
    """A query and items of equal length. The name "300+10x10" means a query of 300 tokens and 10 items of 10."""

    query_tokens: int
    items: int
    item_tokens: int

    @classmethod
    def parse(cls, name: str) -> Workload:
        match = re.fullmatch(r"(\d+)\+(\d+)x(\d+)", name)
        numbers = [int(group) for group in match.groups()] if match else []
        if not numbers or min(numbers) < 1:
            raise ValueError(f"not a workload: {name}")
        return cls(*numbers)

    @property
    def title(self) -> str:
        return f"{self.query_tokens} + {self.items} x {self.item_tokens}"

    def query(self, vocab_size: int) -> list[int]:
        return _tokens(self.query_tokens, 0, vocab_size)

    def item_list(self, vocab_size: int) -> list[list[int]]:
        return [_tokens(self.item_tokens, i + 1, vocab_size) for i in range(self.items)]


@dataclass
class Packed:
    """A workload as one sequence: the query, then the items, which do not attend to each other."""

    ids: np.ndarray  # [rows]
    positions: np.ndarray  # [rows]; every item begins behind the query.
    sees: np.ndarray  # [rows, rows]: whether a row attends to a key.
    reads: np.ndarray  # [items]: the last row of each.


def pack(workload: Workload, vocab_size: int) -> Packed:
    query, length, items = workload.query_tokens, workload.item_tokens, workload.items
    ids = np.array(sum(workload.item_list(vocab_size), workload.query(vocab_size)), np.int64)
    positions = np.concatenate([np.arange(query), np.tile(np.arange(query, query + length), items)])
    segment = np.concatenate([np.zeros(query, np.int64), np.repeat(np.arange(1, items + 1), length)])
    row = np.arange(len(ids))
    in_sight = (segment[None, :] == 0) | (segment[None, :] == segment[:, None])
    return Packed(ids, positions, (row[None, :] <= row[:, None]) & in_sight, query + length * np.arange(1, items + 1) - 1)
