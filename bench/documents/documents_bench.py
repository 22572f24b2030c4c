"""Documents that cannot see each other: what their cache saves, and what an answer takes.

One process of the product for each dtype, and one of the worker, which reads memory on as many threads.
Only what is of one dtype is compared, so dtypes are run one after another; all else in turns.
"""
from __future__ import annotations

import json
import math
import subprocess
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from bench.documents.requests import FreshTokens, chunked, score
from bench.documents.scorecast import Answered, Scorecast
from bench.passes.jobs import Jobs, Layout
from bench.progress import progress
from bench.worker_process import WorkerProcess

DOCUMENTS, DOCUMENT_TOKENS, QUESTION_TOKENS = 8, 512, 64
DOCUMENTS_TOKENS = DOCUMENTS * DOCUMENT_TOKENS
WARM_REQUESTS = 3  # In a round, each with an order and a question of its own.
QUERY_TOKENS, ITEMS, ITEM_TOKENS = 300, 10, 10
ANSWERS, ANSWER_TOKENS, PROMPT_TOKENS = (1, 4, 16), 64, 16


@dataclass
class Samples:
    """Of one kind of request; a value each."""

    seconds: list[float] = field(default_factory=list)  # By the wall clock of who asks.
    total_ms: list[float] = field(default_factory=list)  # By the answer's own timings.

    def add(self, answered: Answered) -> None:
        self.seconds.append(answered.seconds)
        self.total_ms.append(answered.total_ms())


@dataclass
class FirstTokenFigures:
    """To the first token of an answer about documents."""

    cold: Samples = field(default_factory=Samples)
    warm: Samples = field(default_factory=Samples)  # WARM_REQUESTS a round.
    plain: Samples = field(default_factory=Samples)  # The same number of tokens as one causal prompt.

    def plain_over_cold(self) -> list[float]:
        return [a / b for a, b in zip(self.plain.seconds, self.cold.seconds)]

    def plain_over_warm(self) -> list[float]:
        """A round's plain over the median of its warm ones."""
        return [plain / median(self.warm.seconds[i * WARM_REQUESTS:(i + 1) * WARM_REQUESTS])
                for i, plain in enumerate(self.plain.seconds)]


@dataclass
class MultiItemFigures:
    cold: Samples = field(default_factory=Samples)
    warm: Samples = field(default_factory=Samples)  # The same query, other items.

    def cold_over_warm(self) -> list[float]:
        return [a / b for a, b in zip(self.cold.seconds, self.warm.seconds)]


@dataclass
class DecodingFigures:
    """So many answers together."""

    answers: int
    first: Samples = field(default_factory=Samples)  # Of one token each.
    whole: Samples = field(default_factory=Samples)  # Of ANSWER_TOKENS each.
    bytes_per_second: list[float] = field(default_factory=list)  # Read from memory, in the same round.

    def step_seconds(self) -> list[float]:
        """Of a step that adds a token to each answer."""
        return [(whole - first) / (ANSWER_TOKENS - 1)
                for whole, first in zip(self.whole.seconds, self.first.seconds)]

    def tokens_per_second(self) -> list[float]:
        return [self.answers / seconds for seconds in self.step_seconds()]

    def share_of_limit(self, weight_bytes: float) -> list[float]:
        """A step at the least reads every weight once."""
        return [weight_bytes / rate / seconds for rate, seconds in zip(self.bytes_per_second, self.step_seconds())]


@dataclass
class DocumentsFigures:
    """Of one dtype."""

    dtype: str
    layout: Layout
    weight_bytes: float  # Of the products, as packed.
    first_token: FirstTokenFigures = field(default_factory=FirstTokenFigures)
    multi_item: MultiItemFigures = field(default_factory=MultiItemFigures)
    decoding: list[DecodingFigures] = field(default_factory=lambda: [DecodingFigures(n) for n in ANSWERS])


def kv_cache_mb(config: dict[str, Any], dtype: str) -> int:
    """Room for what a round keeps: its documents, and the plain prompt."""
    heads_bytes = config["num_key_value_heads"] * config["head_dim"] * (4 if dtype == "f32" else 2)
    token_bytes = 2 * config["num_hidden_layers"] * heads_bytes
    return math.ceil(3 * (DOCUMENTS_TOKENS + QUESTION_TOKENS) * token_bytes / 2**20)


class _Rounds:
    """Of one dtype."""

    def __init__(self, scorecast: Scorecast, worker: WorkerProcess, tokens: FreshTokens) -> None:
        self._scorecast = scorecast
        self._worker = worker
        self._tokens = tokens

    def first_token(self, figures: FirstTokenFigures) -> None:
        documents = self._tokens.lists(DOCUMENTS, DOCUMENT_TOKENS)
        figures.cold.add(self._ask_about(documents, 0))
        for _ in range(WARM_REQUESTS):
            documents = self._tokens.in_another_order(documents)
            figures.warm.add(self._ask_about(documents, DOCUMENTS_TOKENS))
        plain = self._tokens.take(DOCUMENTS_TOKENS + QUESTION_TOKENS)
        figures.plain.add(self._scorecast.ask([chunked([], plain, 1)], 0))

    def multi_item(self, figures: MultiItemFigures) -> None:
        query = self._tokens.take(QUERY_TOKENS)
        for samples, cached in [(figures.cold, 0), (figures.warm, QUERY_TOKENS)]:
            samples.add(self._scorecast.ask([score(query, self._tokens.lists(ITEMS, ITEM_TOKENS))], cached))

    def decoding(self, figures: DecodingFigures) -> None:
        for samples, new_tokens in [(figures.first, 1), (figures.whole, ANSWER_TOKENS)]:
            prompts = self._tokens.lists(figures.answers, PROMPT_TOKENS)
            samples.add(self._scorecast.ask([chunked([], prompt, new_tokens) for prompt in prompts], 0))
        figures.bytes_per_second.append(self._worker.run("reads")["bytes_per_second"])

    def all(self, figures: DocumentsFigures) -> None:
        self.first_token(figures.first_token)
        self.multi_item(figures.multi_item)
        for decoding in figures.decoding:
            self.decoding(decoding)

    def _ask_about(self, documents: list[list[int]], cached: int) -> Answered:
        return self._scorecast.ask([chunked(documents, self._tokens.take(QUESTION_TOKENS), 1)], cached)


class DocumentsBench:
    def __init__(self, jobs: Jobs, scorecast: Path) -> None:
        self._jobs = jobs
        self._scorecast = scorecast
        self._model = jobs.write_model()
        self._config: dict[str, Any] = json.loads((self._model / "config.json").read_text())

    def run(self, dtypes: list[str], layout: Layout, rounds: int) -> list[DocumentsFigures]:
        all_figures = []
        for dtype in dtypes:
            with ExitStack() as stack:
                worker = self._jobs.start_if_any(dtype, layout, stack=stack)
                if worker:
                    all_figures.append(self._run(dtype, layout, rounds, worker, stack))
        return all_figures

    def _run(self, dtype: str, layout: Layout, rounds: int, worker: WorkerProcess, stack: ExitStack) -> DocumentsFigures:
        tokens = FreshTokens(self._config["vocab_size"])
        command = [str(self._scorecast.resolve()), "batch", "--model", str(self._model), "--input", "-", "--output", "-",
                   "--dtype", dtype, "--threads", str(layout.threads),
                   "--multi-item-scoring-delimiter", str(tokens.delimiter),
                   "--kv-cache-mb", str(kv_cache_mb(self._config, dtype))]
        scorecast = stack.enter_context(Scorecast(f"scorecast {dtype}", command, self._jobs.logs / f"scorecast-{dtype}.txt",
                                                  self._jobs.environment))
        measured = _Rounds(scorecast, worker, tokens)
        progress(f"documents: warming up {dtype}")
        measured.all(DocumentsFigures(dtype, layout, 0))
        figures = DocumentsFigures(dtype, layout, worker.info["weight_bytes"])
        for number in range(rounds):
            progress(f"documents: round {number + 1} of {rounds}, {dtype}")
            measured.all(figures)
        return figures
