"""How long a single request takes alone, and beside others."""
from __future__ import annotations

import random
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from statistics import median

from bench.abuse.polite import SOURCE
from bench.fairness.heavy import HeavyClients
from bench.fairness.load import Load
from bench.fairness.measure import wanted
from bench.fairness.probes import Probe
from bench.fairness.side import NoReply, Settings, Side, Unanswered, started

# From the background's start to the request, which should come at any time of a pass.
_FIRST_SECONDS, _LAST_SECONDS = 0.5, 1.0
_CACHED_SALT = "cached"
_TINY_TOKENS = 4


@dataclass
class ProbeFigures:
    probe: str
    title: str
    transport: str
    build: str
    bound_ms: float
    alone_ms: list[float] = field(default_factory=list)  # One of each round.
    beside_ms: list[float] = field(default_factory=list)  # All; that of a request without a reply is the limit.
    failures: Counter[str] = field(default_factory=Counter)

    def over_wanted(self) -> list[float]:
        return [ms / wanted(median(self.alone_ms), self.bound_ms) for ms in self.beside_ms]

    def over_bound(self) -> list[float]:
        return [ms / self.bound_ms for ms in self.beside_ms]


class _Subject:
    """A side, and the figures of its probe."""

    def __init__(self, side: Side, probe: Probe) -> None:
        self._side = side
        self._probe = probe
        self._body = probe.request(side.maker)
        self._tiny = side.maker.score(_TINY_TOKENS, 1, 1)
        self._salt = _CACHED_SALT if probe.is_cached else None
        self._random = random.Random(1)
        self.figures = ProbeFigures(probe.name, probe.title, side.transport, side.build.name, 1000 * side.bound_seconds())

    def measure(self) -> None:
        """A round: the request alone, then beside the others until the time is over."""
        figures = self.figures
        try:
            if self._probe.is_cached:
                self._side.seconds_of(self._body, self._salt)
            alone = self._largest_gap() if self._probe.is_stream else self._side.seconds_alone(self._body, self._salt)
            figures.alone_ms.append(1000 * alone)
            end = time.monotonic() + self._side.settings.seconds
            while time.monotonic() < end:
                beside = self._largest_gap if self._probe.is_stream else self._beside
                figures.beside_ms.append(1000 * beside(self._probe.background))
        except NoReply as reason:
            figures.beside_ms.append(1000 * self._side.settings.limit)
            figures.failures[str(reason)] += 1
        except Unanswered as reason:
            figures.failures[str(reason)] += 1

    def _beside(self, background: Load) -> float:
        heavy = self._side.start(background)
        try:
            time.sleep(self._random.uniform(_FIRST_SECONDS, _LAST_SECONDS))
            return self._side.seconds_of(self._body, self._salt)
        finally:
            self._end(heavy)

    def _largest_gap(self, background: Load | None = None) -> float:
        """The background comes when the stream runs."""
        stream = self._side.start(Load(self._probe.request, source=SOURCE))
        heavy = None
        try:
            time.sleep(_FIRST_SECONDS)
            heavy = self._side.start(background) if background else None
            time.sleep(self._side.settings.seconds)
            traffic = stream.stop()
        finally:
            stream.kill()
            if heavy:
                self._end(heavy)
        if not traffic.gaps:
            raise Unanswered(", ".join(traffic.outcomes) or "no token")
        return max(traffic.gaps)

    def _end(self, heavy: HeavyClients) -> None:
        """Ends the background and waits until the pass in flight has ended. Notes errors that the background got, because
        the request then was not beside all of it."""
        for outcome in heavy.stop().outcomes:
            if outcome != "ok":
                self.figures.failures[f"{outcome} of the others"] += 1
        with suppress(Unanswered):
            self._side.seconds_of(self._tiny)


def probe(settings: Settings, what: Probe, *, http: bool) -> list[ProbeFigures]:
    """The figures of each build. Their rounds take turns."""
    with ExitStack() as stack:
        sides = [stack.enter_context(started(settings, build, what.name, http)) for build in settings.builds]
        what = what.with_long_requests(min(side.accepted_tokens() for side in sides))
        subjects = [_Subject(side, what) for side in sides]
        for number in range(settings.rounds):
            for subject in subjects[::-1] if number % 2 else subjects:
                subject.measure()
        return [subject.figures for subject in subjects]
