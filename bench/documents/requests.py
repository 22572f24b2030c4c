"""Requests of token ids, as lines of a batch file."""
from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Tokens = list[int]


class FreshTokens:
    """Random ids, which almost certainly no request has had before."""

    def __init__(self, vocab_size: int) -> None:
        self._vocab_size = vocab_size
        self._random = random.Random(1)

    def take(self, count: int) -> Tokens:
        return [self._random.randrange(self._vocab_size) for _ in range(count)]

    def lists(self, count: int, length: int) -> list[Tokens]:
        return [self.take(length) for _ in range(count)]

    def in_another_order(self, documents: Sequence[Tokens]) -> list[Tokens]:
        """The documents in a random order in which each has another place than before."""
        order = list(range(len(documents)))
        self._random.shuffle(order)
        place = {document: i for i, document in enumerate(order)}
        return [documents[order[(place[i] + 1) % len(order)]] for i in range(len(order))]


@dataclass
class Request:
    url: str
    body: dict[str, Any]

    def line(self, number: int) -> str:
        return json.dumps({"custom_id": str(number), "method": "POST", "url": self.url, "body": self.body}) + "\n"


def chunked(documents: Sequence[Tokens], question: Tokens, new_tokens: int) -> Request:
    """A request of /v1/chunked. Without documents it is an ordinary causal prompt."""
    return Request("/v1/chunked", {"chunks": list(documents), "question": question, "max_new_tokens": new_tokens,
                                   "ignore_eos": True})


def score(query: Tokens, items: Sequence[Tokens]) -> Request:
    return Request("/v1/score", {"query": query, "items": list(items), "label_token_ids": [0, 1], "apply_softmax": True})
