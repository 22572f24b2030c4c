"""What clients send, and what they see."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from bench.company.bodies import Body, BodyMaker
from bench.company.wire import Phases
from bench.samples import percentile

OK, NO_REPLY, NOT_SENT, OTHER_BITS = "ok", "no reply", "not sent", "other bits"
DEADLINE_PASSED = "deadline_passed"
SOURCE, POLITE_SOURCE = "127.0.0.1", "127.0.0.2"
OTHER_NETWORK_SOURCE = "127.1.0.1"  # In another /24.
PROBE_SOURCE = "127.0.0.3"


@dataclass(frozen=True)
class Load:
    """Each client keeps `in_flight` requests in flight, on one connection of the socket, or on as many connections over
    HTTP. With `rate` or `interval`, requests are sent instead at random or at fixed times, whether earlier ones have replies or
    not."""

    body: Callable[[BodyMaker, int], Body]  # Of the request with this number, from 0 to `bodies`.
    bodies: int = 1  # Different ones, which are sent in turns.
    kind: str = ""  # The name of its requests in the samples.
    clients: int = 1
    in_flight: int = 1
    http_in_flight: int | None = None  # If it is another number over HTTP.
    own_addresses: bool = False  # Whether each client has an address of its own.
    source: str = SOURCE
    once: bool = False  # Whether each request is sent only once.
    obeys: bool = True  # Whether refused requests are sent again when Retry-After has passed.
    rate: float | None = None  # Requests per second, the mean of a Poisson process.
    interval: float | None = None  # Seconds between requests, of which the first is sent at a random time.
    connections: int | None = None  # Of requests with a rate or an interval. None: as many as have a request in flight.
    fresh: bool = False  # Whether each request has a new connection.
    patience: float | None = None  # Seconds after which a request without a reply has failed.

    def sources(self, http: bool) -> list[str]:
        """The address of each connection."""
        clients = [f"127.0.1.{1 + n}" if self.own_addresses else self.source for n in range(self.clients)]
        return [source for source in clients for _ in range(self.http_in_flight or self.in_flight)] if http else clients

    def on_connection(self, http: bool) -> int:
        """Requests in flight on each connection."""
        return 1 if http else self.in_flight


@dataclass(frozen=True)
class Raw:
    """Clients that connect, send pieces of bytes that need not be requests, and leave."""

    pieces: Callable[[], Iterable[bytes]]
    clients: int = 1
    wait: float | None = None  # Seconds until the next piece. None: replies are not read.
    pause: float = 0.0  # Before the next connection.


@dataclass(frozen=True)
class Pipelined:
    """Connections that send requests over HTTP without waiting for their replies, and all of them again when the last reply
    has begun to come. Replies are read and counted, not parsed."""

    requests: Callable[[], bytes]
    number: int  # Of the requests.
    connections: int


class Sample(NamedTuple):
    """A request, or a connection without a request that failed."""

    kind: str
    due: float  # By the monotonic clock.
    ms: float  # From when it was due.
    outcome: str  # OK, the reason of an error reply, or what happened instead of a reply.
    phases: Phases | None = None  # If the reply says them.


@dataclass
class Traffic:
    """What the clients of a process saw."""

    sent: int = 0
    samples: list[Sample] = field(default_factory=list)
    retry_after: list[int] = field(default_factory=list)  # Seconds of each refusal.
    retries: int = 0  # Refused requests that were sent again when Retry-After had passed.
    retries_admitted: int = 0  # Those of them that were not refused again.
    gaps: list[float] = field(default_factory=list)  # Seconds between consecutive tokens of a stream.
    counts: Counter[str] = field(default_factory=Counter)  # Of clients that do not send whole requests.
    # How much later than asked a short sleep of the process ended: when, by the monotonic clock, and milliseconds.
    delays: list[tuple[float, float]] = field(default_factory=list)

    def outcomes(self) -> Counter[str]:
        return self.counts + Counter(sample.outcome for sample in self.samples)

    def seconds(self) -> list[float]:
        """From when each request was due to its response."""
        return [sample.ms / 1000 for sample in self.samples if sample.outcome == OK]

    def refused_share(self) -> float:
        return len(self.retry_after) / max(1, self.sent)

    def add(self, other: Traffic) -> None:
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)


class Seen:
    """What polite clients saw, from the samples of one phase."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        samples = list(samples)
        self.count = len(samples)
        self.failures = Counter(sample.outcome for sample in samples if sample.outcome != OK)
        # A refusal may be fast, which would make the percentiles look better. The time of a request without a reply is
        # that until it was given up.
        self.timed = [(s.ms, s.outcome) for s in samples if s.outcome in (OK, NO_REPLY, DEADLINE_PASSED)]

    def percentile(self, percent: float) -> tuple[float, str] | None:
        """Milliseconds and the outcome."""
        return percentile(self.timed, percent) if self.timed else None
