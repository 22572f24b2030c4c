"""Documents that cannot see each other: the time that their cache saves, and the time of completions.

Each dtype has a process of the product, and a worker that reads memory on the same number of threads.
Figures are compared only within a dtype, so dtypes run one after another, and everything else in turns.
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
from bench.documents.scorecast import Responses, Scorecast, batch_command
from bench.passes.jobs import Jobs, Layout
from bench.progress import progress
from bench.worker_process import WorkerProcess

DOCUMENTS, DOCUMENT_TOKENS, QUESTION_TOKENS = 8, 512, 64
DOCUMENTS_TOKENS = DOCUMENTS * DOCUMENT_TOKENS
WARM_REQUESTS = 3  # In a round. Each has its own order of documents and its own question.
QUERY_TOKENS, ITEMS, ITEM_TOKENS = 300, 10, 10
COMPLETIONS, COMPLETION_TOKENS, PROMPT_TOKENS = (1, 4, 16), 64, 16


@dataclass
class Samples:
    """Times of one kind of request, one value for each measurement."""

    seconds: list[float] = field(default_factory=list)  # Wall-clock time, measured by this program.
    total_ms: list[float] = field(default_factory=list)  # From the responses' own timings.

    def add(self, responses: Responses) -> None:
        self.seconds.append(responses.seconds)
        self.total_ms.append(responses.total_ms())


@dataclass
class FirstTokenFigures:
    """Times to the first token of a completion about documents."""

    cold: Samples = field(default_factory=Samples)
    warm: Samples = field(default_factory=Samples)  # WARM_REQUESTS values for each round.
    plain: Samples = field(default_factory=Samples)  # One causal prompt with the same number of tokens.

    def plain_over_cold(self) -> list[float]:
        return [a / b for a, b in zip(self.plain.seconds, self.cold.seconds)]

    def plain_over_warm(self) -> list[float]:
        """For each round, plain over the median of the warm requests."""
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
    """Times of `completions` completions together."""

    completions: int
    first: Samples = field(default_factory=Samples)  # One token each.
    whole: Samples = field(default_factory=Samples)  # COMPLETION_TOKENS tokens each.
    bytes_per_second: list[float] = field(default_factory=list)  # Read from memory in the same round.

    def step_seconds(self) -> list[float]:
        """Time of a step, which adds a token to each completion."""
        return [(whole - first) / (COMPLETION_TOKENS - 1)
                for whole, first in zip(self.whole.seconds, self.first.seconds)]

    def tokens_per_second(self) -> list[float]:
        return [self.completions / seconds for seconds in self.step_seconds()]

    def share_of_limit(self, weight_bytes: float) -> list[float]:
        """Time of reading every weight once, which is the least that a step needs, over the time of a step."""
        return [weight_bytes / rate / seconds for rate, seconds in zip(self.bytes_per_second, self.step_seconds())]


@dataclass
class DocumentsFigures:
    """Figures of one dtype."""

    dtype: str
    layout: Layout
    weight_bytes: float  # Packed weights of the products.
    first_token: FirstTokenFigures = field(default_factory=FirstTokenFigures)
    multi_item: MultiItemFigures = field(default_factory=MultiItemFigures)
    decoding: list[DecodingFigures] = field(default_factory=lambda: [DecodingFigures(n) for n in COMPLETIONS])


def kv_cache_mb(config: dict[str, Any], dtype: str) -> int:
    """Size of a cache with room for a round's documents and its plain prompt."""
    heads_bytes = config["num_key_value_heads"] * config["head_dim"] * (4 if dtype == "f32" else 2)
    token_bytes = 2 * config["num_hidden_layers"] * heads_bytes
    return math.ceil(3 * (DOCUMENTS_TOKENS + QUESTION_TOKENS) * token_bytes / 2**20)


def complete(scorecast: Scorecast, tokens: FreshTokens, figures: DecodingFigures) -> None:
    """Generates the completions once with one token each, and once whole."""
    for samples, new_tokens in [(figures.first, 1), (figures.whole, COMPLETION_TOKENS)]:
        prompts = tokens.lists(figures.completions, PROMPT_TOKENS)
        samples.add(scorecast.ask([chunked([], prompt, new_tokens) for prompt in prompts], 0))


class _Rounds:
    """Measures rounds of one dtype."""

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
        complete(self._scorecast, self._tokens, figures)
        figures.bytes_per_second.append(self._worker.run("reads")["bytes_per_second"])

    def all(self, figures: DocumentsFigures) -> None:
        self.first_token(figures.first_token)
        self.multi_item(figures.multi_item)
        for decoding in figures.decoding:
            self.decoding(decoding)

    def _ask_about(self, documents: list[list[int]], cached: int) -> Responses:
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
        command = batch_command(self._scorecast, self._model, dtype, self._jobs.kernel, layout.threads,
                                kv_cache_mb(self._config, dtype))
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
