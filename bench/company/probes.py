"""Single requests, alone and beside others: how long a client waits for somebody else's work."""
from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from bench.company.bodies import Body, BodyMaker
from bench.company.cases import HEAVY_BODIES, LARGE_TOKENS, STREAM_PROMPT_TOKENS, large_request
from bench.company.clients import Clients
from bench.company.load import NO_REPLY, OK, POLITE_SOURCE, Load
from bench.company.side import NoReply, Side, Unanswered, wanted

_TINY_TOKENS = 15
_DOCUMENTS, _DOCUMENT_TOKENS, _QUESTION_TOKENS = 17, 512, 32
# More than the service's default of --max-batch-tokens.
_TWO_PASSES_TOKENS = 12_288
# From the background's start to the request, which should come at any time of a pass.
_FIRST_SECONDS, _LAST_SECONDS = 0.5, 1.0
_CACHED_SALT = "cached"


_LONG = Load(lambda maker, _: maker.long(), once=True)
_SIX_LARGE = Load(large_request, HEAVY_BODIES, in_flight=6, once=True)


@dataclass(frozen=True)
class Probe:
    """A polite client's request is sent alone, then while the requests of `background` wait or are computed. `title` may
    contain the number of tokens of a long request."""

    name: str
    title: str
    request: Callable[[BodyMaker], Body]
    background: Load = _LONG
    is_cached: bool = False  # Whether its tokens are in the cache.
    is_stream: bool = False  # Whether the time is the largest between two tokens.
    transports: Sequence[str] = ("socket", "http")
    model: str | None = None
    flags: Mapping[str, Any] = field(default_factory=dict)


def _tiny(maker: BodyMaker) -> Body:
    return maker.score(_TINY_TOKENS - 2)


PROBES = [
    Probe("tiny-beside-long", f"a score of {_TINY_TOKENS} tokens beside a request of {{tokens:,}}", _tiny),
    Probe("gap-beside-long", "largest gap of a stream beside a request of {tokens:,} tokens",
          lambda maker: maker.stream(STREAM_PROMPT_TOKENS, 4096), is_stream=True),
    Probe("two-passes-behind-long", f"a score of {_TWO_PASSES_TOKENS:,} tokens behind a request of {{tokens:,}}",
          lambda maker: maker.score(_TWO_PASSES_TOKENS - 2)),
    Probe("documents-behind-long", f"{_DOCUMENTS} cached documents of {_DOCUMENT_TOKENS} tokens behind a request of {{tokens:,}}",
          lambda maker: maker.documents(_DOCUMENTS, _DOCUMENT_TOKENS, _QUESTION_TOKENS), is_cached=True),
    Probe("tiny-behind-large", f"a score of {_TINY_TOKENS} tokens behind six of {LARGE_TOKENS}", _tiny, _SIX_LARGE),
]


@dataclass
class ProbeFigures:
    probe: str
    title: str
    transport: str
    build: str
    bound_ms: float
    alone_ms: list[float] = field(default_factory=list)  # One of each round.
    beside_ms: list[float] = field(default_factory=list)  # All; that of a request without a reply is the patience.
    failures: Counter[str] = field(default_factory=Counter)

    def over_wanted(self) -> list[float]:
        return [ms / wanted(median(self.alone_ms), self.bound_ms) for ms in self.beside_ms]

    def over_bound(self) -> list[float]:
        return [ms / self.bound_ms for ms in self.beside_ms]


class ProbeSubject:
    """A side, and the figures of its probe."""

    def __init__(self, side: Side, probe: Probe) -> None:
        self._side = side
        self._probe = probe
        self._body = probe.request(side.maker)
        self._stream = Load(lambda *_: self._body, source=POLITE_SOURCE)
        self._salt = _CACHED_SALT if probe.is_cached else None
        self._random = random.Random(1)
        self.figures = ProbeFigures(probe.name, side.title(probe.title), side.transport, side.build.name,
                                    1000 * side.bound_seconds())

    def measure(self) -> None:
        """A round: the request alone, then beside the others until the time is over."""
        figures, side = self.figures, self._side
        try:
            if self._probe.is_cached:
                side.seconds_of(self._body, self._salt)
            alone = self._largest_gap() if self._probe.is_stream else side.seconds_alone(self._body, self._salt)
            figures.alone_ms.append(1000 * alone)
            end = time.monotonic() + side.settings.seconds
            while time.monotonic() < end:
                beside = self._largest_gap if self._probe.is_stream else self._beside
                figures.beside_ms.append(1000 * beside(self._probe.background))
        except NoReply as reason:
            if figures.alone_ms:
                figures.beside_ms.append(1000 * side.settings.patience)
            figures.failures[str(reason)] += 1
        except Unanswered as reason:
            figures.failures[str(reason)] += 1

    def finish(self) -> ProbeFigures:
        return self.figures

    def _beside(self, background: Load) -> float:
        heavy = self._side.start(background)
        try:
            time.sleep(self._random.uniform(_FIRST_SECONDS, _LAST_SECONDS))
            return self._side.seconds_of(self._body, self._salt)
        finally:
            self._end(heavy)

    def _largest_gap(self, background: Load | None = None) -> float:
        """The background comes when the stream runs."""
        stream = self._side.start(self._stream)
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
            raise Unanswered(", ".join(traffic.outcomes()) or "no token")
        return max(traffic.gaps)

    def _end(self, heavy: Clients) -> None:
        """Ends the background and waits until the pass in flight has ended. Notes errors that the background got, because
        the request then was not beside all of it."""
        for outcome in heavy.stop().outcomes():
            if outcome not in (OK, NO_REPLY):
                self.figures.failures[f"{outcome} of the others"] += 1
        with suppress(Unanswered):
            self._side.seconds_of(_tiny(self._side.maker))
