"""What the calls of a client return. `raw` of a result is the whole response, with all fields of docs/requests.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Usage:
    """Tokens of a request. `cached_tokens` of its `prompt_tokens` had their keys and values in the cache."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    total_tokens: int = 0
    cached_tokens: int = 0


@dataclass(frozen=True)
class Result:
    usage: Usage
    raw: dict[str, Any] = field(repr=False)


@dataclass(frozen=True)
class ScoreResult(Result):
    """`scores`: [items][labels], or [items][classes] of a classifier."""

    scores: list[list[float]]
    token_logprobs: list[list[float]] | None = None

    @property
    def prompt_tokens(self) -> int:
        return self.usage.prompt_tokens


@dataclass(frozen=True)
class LikelihoodResult(Result):
    """`scores`: of each item the sum of its `token_logprobs`, or what `normalize` makes of it. `is_greedy`: whether each
    token of the item is the most likely one in its place."""

    scores: list[float]
    token_logprobs: list[list[float]]
    is_greedy: list[bool]


@dataclass(frozen=True)
class RankedDocument:
    index: int
    relevance_score: float
    document: str


@dataclass(frozen=True)
class RerankResult(Result):
    """The documents, best first. Can be iterated."""

    results: list[RankedDocument]

    def __iter__(self) -> Iterator[RankedDocument]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def __getitem__(self, place: int) -> RankedDocument:
        return self.results[place]


@dataclass(frozen=True)
class EmbedResult(Result):
    """A vector for each text, of float32."""

    embeddings: list[list[float]]


@dataclass(frozen=True)
class Classification:
    """`probs` is in the order of the model's classes, and `label` is the most likely one."""

    label: str
    probs: list[float]


@dataclass(frozen=True)
class ClassifyResult(Result):
    """A classification for each text."""

    results: list[Classification]


@dataclass(frozen=True)
class Decision:
    """An answer of `decide`. Of `noul`, `choice` and `score`, the one that has the name of `type` is not None."""

    type: str
    noul: float | None = None
    choice: str | None = None
    score: float | None = None
    confidence: float | None = None
    probabilities: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class DecideResult(Result):
    answers: dict[str, Decision]

    def __getitem__(self, question: str) -> Decision:
        return self.answers[question]


@dataclass(frozen=True)
class Completion:
    """`logprobs` is in OpenAI's form, if it was asked for."""

    index: int
    text: str
    finish_reason: str
    token_ids: list[int] | None = None
    logprobs: dict[str, Any] | None = field(default=None, repr=False)


@dataclass(frozen=True)
class CompletionResult(Result):
    """Completions of prompts, or messages of a chat: those of the first prompt, then those of the next."""

    choices: list[Completion]

    @property
    def text(self) -> str:
        """The text of the first choice."""
        return self.choices[0].text


@dataclass(frozen=True)
class Answer(Result):
    """An answer to `ask`, without white space around it."""

    text: str
    finish_reason: str
    token_ids: list[int]


@dataclass(frozen=True)
class Delta:
    """A part of a completion. Its last one has the `finish_reason`."""

    text: str
    index: int = 0
    finish_reason: str | None = None


def usage_of(response: dict[str, Any]) -> Usage:
    usage = response.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    prompt = usage.get("prompt_tokens", usage.get("input_tokens", 0))
    completion = usage.get("completion_tokens", usage.get("output_tokens", 0))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=usage.get("total_tokens", prompt + completion),
        cached_tokens=usage.get("cached_tokens", details.get("cached_tokens", 0)) or 0,
    )


def column(rows: Sequence[Sequence[float]]) -> list[float]:
    return [row[0] for row in rows]
