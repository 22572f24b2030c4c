"""Rounds of requests, in which all ways to ask take turns."""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.company.service import ServiceFailed
from bench.decisions.questions import QUESTION_TOKENS, STATE_TOKENS, Texts
from bench.decisions.server import Server
from bench.progress import progress

TIMED = 10  # Requests that are timed one by one. If there are more, their time is extrapolated.
FEW_QUESTIONS, FEW_REQUESTS = 5, 10
_CHANCE_TOKENS = 16  # So many states do not begin with the same word, which is one of 676.
TARGET_QUESTIONS, TARGET_OVER_ONE, TARGET_FASTER = 20, 2.0, 10.0


@dataclass
class Asked:
    """Seconds of `questions` questions about a state, one value for each round."""

    questions: int
    together: list[float] = field(default_factory=list)  # One request about a new state.
    behind_cache: list[float] = field(default_factory=list)  # One request about a cached state.
    one_by_one: list[float] = field(default_factory=list)  # A request for each, about a cached state.
    uncached: list[float] = field(default_factory=list)  # A request for each, to a service without a cache.
    peers: dict[str, list[float]] = field(default_factory=dict)  # A pass for each by another engine, which computes the state anew.

    def over(self, seconds: Sequence[float]) -> list[float]:
        """For each round, these over those of one request."""
        return [a / b for a, b in zip(seconds, self.together)]


@dataclass
class Figures:
    dtype: str
    engine: str
    threads: int
    asked: list[Asked]
    few_seconds: list[list[float]] = field(default_factory=list)  # By round, of requests of FEW_QUESTIONS behind a cached state.
    peer_versions: dict[str, str] = field(default_factory=dict)

    def of(self, questions: int) -> Asked | None:
        return next((asked for asked in self.asked if asked.questions == questions), None)

    def over_one(self, questions: int) -> list[float]:
        """For each round, the time of so many questions together over that of one. Empty if one was not measured."""
        one, many = self.of(1), self.of(questions)
        return [a / b for a, b in zip(many.together, one.together)] if one and many else []

    def per_second_and_core(self, seconds: Sequence[float], questions: int) -> list[float]:
        return [questions / each / self.threads for each in seconds]

    def few_medians(self) -> list[float]:
        return [median(seconds) for seconds in self.few_seconds]


class Rounds:
    """Asks two services of one model, of which one has no cache. Every reply must have the tokens that a figure assumes."""

    def __init__(self, cached: Server, uncached: Server) -> None:
        self._cached = cached
        self._uncached = uncached
        self._texts = Texts.measured(cached)

    def warm_up(self, figures: Figures) -> None:
        for server in (self._cached, self._uncached):
            for asked in figures.asked:
                self._timed(server, self._texts.state(), asked.questions)

    def run(self, figures: Figures) -> None:
        before = self._cached.cached_tokens(0)
        for asked in figures.asked:
            self._ask(asked)
        state = self._texts.state()
        self._timed(self._cached, state, 1)
        figures.few_seconds.append([self._timed(self._cached, state, FEW_QUESTIONS) for _ in range(FEW_REQUESTS)])
        # Each state is computed once, and all other requests find it in the cache. A new state may begin as an older one does.
        expected = STATE_TOKENS * (sum(1 + min(asked.questions, TIMED) for asked in figures.asked) + FEW_REQUESTS)
        cached = self._cached.cached_tokens(before + expected) - before
        if not expected <= cached < expected + _CHANCE_TOKENS:
            raise ServiceFailed(f"{cached} tokens were cached, not {expected}")

    def _ask(self, asked: Asked) -> None:
        count, state = asked.questions, self._texts.state()
        progress(f"decisions: {count} questions")
        asked.together.append(self._timed(self._cached, state, count))
        asked.behind_cache.append(self._timed(self._cached, state, count))
        for seconds, server in ((asked.one_by_one, self._cached), (asked.uncached, self._uncached)):
            timed = min(count, TIMED)
            seconds.append(sum(self._timed(server, state, 1) for _ in range(timed)) * count / timed)

    def _timed(self, server: Server, state: str, questions: int) -> float:
        """Seconds of a request with new questions."""
        reply = server.decide(state, self._texts.questions(questions))
        expected = STATE_TOKENS + questions * QUESTION_TOKENS
        if reply.input_tokens != expected:
            raise ServiceFailed(f"a request has {reply.input_tokens} tokens, not {expected}")
        return reply.seconds
