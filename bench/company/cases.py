"""The company in which polite clients are measured."""
from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from bench.company import attacks
from bench.company.bodies import Body, BodyMaker
from bench.company.load import POLITE_SOURCE, Load, Pipelined, Raw
from bench.company.service import Service

# Polite clients: KEPT ones send on a connection that they keep, FRESH ones connect for each request, LONG ones send messages of
# more than 64 KiB, which the service treats apart.
KEPT, FRESH, LONG = "kept", "fresh", "long"
_INTERVALS = {KEPT: 0.05, FRESH: 0.1, LONG: 0.25}
POLITE_REQUESTS = 20  # Different ones.
_LONG_BYTES = 100_000
RANK_TIMEOUT = 10

OVERLOAD = 10  # Times the capacity.
LARGE_TOKENS = 8192
STREAM_TOKENS, STREAM_PROMPT_TOKENS = 2048, 64
HEAVY_BODIES = 4  # Each is sent with a new salt, so the cache helps none of them.
OPEN_LOOP_CONNECTIONS = 16  # Of the socket, from each of which the service reads up to 256 requests.

# Clients, or what is done to the service; its notes stand in the table.
Company = Load | Raw | Pipelined | Callable[[Service], AbstractContextManager[list[str]]]


@dataclass(frozen=True)
class Case:
    """`title` may contain the number of tokens of a long request."""

    name: str
    title: str
    company: Sequence[Company] = ()
    transports: Sequence[str] = ("socket", "http")
    # Whether the company's requests are work like that of the polite client. The service's rows per second are then measured,
    # also without the polite client, and that asks for a tenth of the service.
    is_heavy: bool = False
    overload: float | None = None  # Beside polite clients, requests come at this multiple of the measured capacity.
    model: str | None = "demo"  # None: that of the command line.
    flags: Mapping[str, Any] = field(default_factory=dict)  # Of the service.
    polite: Sequence[str] = (KEPT, FRESH, LONG)  # None: nothing is measured but the end.
    timeout_ms: int | None = None  # Of polite requests.
    ends_itself: bool = False  # Whether the company should end the service.
    end: signal.Signals | None = None  # At last, the service gets this signal amid the company.


def polite_connections(http: bool) -> int | None:
    """Of requests at fixed times. HTTP computes the requests of a connection one after another, so each request in flight has
    one for itself: otherwise requests that take longer than their interval would wait for each other, more and more of them."""
    return None if http else 1


def polite_texts(kinds: Sequence[str], http: bool, timeout_ms: int | None, patience: float) -> list[Load]:
    """Tiny questions. Those with the same number have the same bits, whatever the kind."""
    def body(maker: BodyMaker, number: int, is_long: bool) -> Body:
        fields = ({"timeout_ms": timeout_ms} if timeout_ms else {}) | ({"padding": "x" * _LONG_BYTES} if is_long else {})
        return maker.scores(f"Is {number} small?", [" yes", f" no, {number}"], **fields)
    return [Load(lambda maker, number, is_long=kind == LONG: body(maker, number, is_long), POLITE_REQUESTS, kind,
                 source=POLITE_SOURCE, obeys=False, interval=_INTERVALS[kind], connections=None if kind == FRESH else polite_connections(http),
                 fresh=kind == FRESH, patience=patience) for kind in kinds]


def _ordinary(maker: BodyMaker, _: int) -> Body:
    """300 tokens with ten items of 20."""
    return maker.score(300, 10, 20)


def large_request(maker: BodyMaker, _: int) -> Body:
    return maker.score(LARGE_TOKENS - 2)


def _heavy(name: str, title: str, body: Any = _ordinary, overload: float | None = None, model: str | None = None,
           **load: Any) -> Case:
    return Case(name, title, [Load(body, HEAVY_BODIES, **load)], is_heavy=True, overload=overload, model=model)


FAIRNESS = [
    _heavy("hog", "one hog, 256 requests in flight", in_flight=256),
    _heavy("hogs", "16 hogs of one address, 16 requests each", clients=16, in_flight=16),
    _heavy("hogs-of-256", "16 hogs of one address, 256 requests each", clients=16, in_flight=256),
    _heavy("hogs-with-addresses", "16 hogs with an address each, 16 requests each", clients=16, in_flight=16, own_addresses=True),
    _heavy("open-loop", f"an open loop at {OVERLOAD} x the capacity", overload=OVERLOAD, in_flight=256),
    _heavy("long", "4 requests of {tokens:,} tokens in flight", lambda maker, _: maker.long(), in_flight=4),
    _heavy("large", f"6 requests of {LARGE_TOKENS} tokens in flight", large_request, in_flight=6),
    _heavy("streams", f"16 completions of {STREAM_TOKENS} tokens, as streams",
           lambda maker, _: maker.stream(STREAM_PROMPT_TOKENS, STREAM_TOKENS), in_flight=16),
    _heavy("batch", "a batch on one connection, as fast as it is read (HTTP: on 32 connections)",
           lambda maker, _: maker.score(300, 50, 10), in_flight=1024, http_in_flight=32),
    # All of a text's rows see each other, so that it takes several passes that end between layers.
    _heavy("texts", f"6 texts of {LARGE_TOKENS} tokens in flight, an encoder like ModernBERT-base",
           lambda maker, _: maker.text(LARGE_TOKENS), in_flight=6, model="encoders-modernbert-base"),
]


def _beside(name: str, title: str, *company: Company, **options: Any) -> Case:
    return Case(name, title, company, ["socket"], **options)


def _over_http(name: str, title: str, *company: Company, **options: Any) -> Case:
    return Case(f"http-{name}", f"{title}, HTTP", company, ["http"], **options)


def _work(number: int, maker: BodyMaker) -> Body:
    """Some seconds of work for the model 0.1b on two CPUs."""
    return maker.scores([600 + (number * 131 + i) % 9000 for i in range(200)],
                        [[600 + (item * 7 + i) % 9000 for i in range(75)] for item in range(100)])


def _accepted(requests: int) -> Load:
    """Requests of clients of their own."""
    return Load(lambda maker, number: _work(number + 1, maker), requests, clients=requests, once=True, obeys=False)


_DRAINS = {"end": signal.SIGUSR1}
_FEW = {"flags": {"--max-connections": 50}}

ABUSES = [
    _beside("none", "none"),
    _beside("refused-texts", "200 clients with 65 kB texts that are refused", attacks.REFUSED_TEXTS),
    _beside("emoji", "16 MB of emoji, SentencePiece Unigram", attacks.EMOJI, model="0.01b:sentencepiece-unigram", **_DRAINS),
    _beside("spaces", "16 MB of spaces, SentencePiece BPE", attacks.SPACES, model="0.01b:sentencepiece-bpe", **_DRAINS),
    _beside("byte-level-emoji", "16 MB of emoji, byte-level BPE", attacks.EMOJI, model="0.01b", **_DRAINS),
    _beside("byte-level-spaces", "16 MB of spaces, byte-level BPE", attacks.SPACES, model="0.01b", **_DRAINS),
    _beside("sentencepiece", "15 MB of text, SentencePiece BPE", attacks.WORDS, **_DRAINS),
    _beside("sentencepiece-word", "15 MB without a space, SentencePiece BPE", attacks.ONE_WORD, **_DRAINS),
    _beside("shared-queries", "1000 requests of 8 KB with 128 items each", attacks.SHARED_QUERIES, model="0.01b",
            flags={"--max-queue": 1024}),
    _beside("empty-messages", "16 MB frames of 8 million empty messages", attacks.EMPTY_MESSAGES),
    _beside("slow-senders", "50 connections at 1 byte/s, --max-connections 50", attacks.SLOW_SENDERS, **_FEW),
    _beside("huge-frames", "frames of 4 GB that are announced and not sent", attacks.HUGE_FRAMES),
    _beside("mutated-frames", "requests with some bytes changed", attacks.MUTATED_FRAMES),
    _beside("leaving-clients", "clients that leave before their replies", attacks.LEAVING_CLIENTS),
    _beside("short-deadlines", "deadlines of 1 to 50 ms", attacks.SHORT_DEADLINES),
    _over_http("none", "none"),
    _over_http("refused-texts", "200 clients with 65 kB texts that are refused", attacks.REFUSED_TEXTS),
    _over_http("words", "15 MB of escaped text", attacks.WORDS, **_DRAINS),
    _over_http("emoji", "1.3 million escaped emoji", attacks.EMOJI, **_DRAINS),
    _over_http("shared-queries", "200 clients with requests of 20 KB and 128 items", attacks.HTTP_SHARED_QUERIES, model="0.01b"),
    _over_http("empty-values", "5 million empty items", attacks.EMPTY_VALUES),
    _over_http("nested-lists", "15 million lists in each other", attacks.NESTED_LISTS),
    _over_http("tiny-chunks", "15 MB in chunks of a byte", attacks.TINY_CHUNKS),
    _over_http("gzip-bombs", "512 MB of spaces, compressed to half a megabyte", attacks.GZIP_BOMBS),
    _over_http("endless-headers", "headers of 10 MB", attacks.ENDLESS_HEADERS),
    _over_http("slow-headers", "50 connections at 1 byte/s of headers, --max-connections 50", attacks.SLOW_HEADERS, **_FEW),
    _over_http("slow-bodies", "50 connections at 1 byte/s of a body, --max-connections 50", attacks.SLOW_BODIES, **_FEW),
    _over_http("half-bodies", "clients that leave in the middle of a body", attacks.HALF_BODIES),
    _over_http("leaving-clients", "clients that leave before their replies", attacks.HTTP_LEAVING_CLIENTS),
    _over_http("pipelining", "thousands of requests on connections that read nothing", attacks.PIPELINING, **_DRAINS),
    _over_http("sampled", "a request for 128 completions, with penalties and top_p", attacks.SAMPLED, model="sampled"),
    _over_http("adjusted", "a request for 16,384 completions with 75,000 biases and a penalty", attacks.ADJUSTED, model="sampled"),
    _over_http("stops", "a request for 16,384 completions with 16 stop strings", attacks.STOPS, model="0.01b"),
    _over_http("idle-connections", f"{attacks.IDLE_CONNECTIONS} idle connections", attacks.IDLE, **_DRAINS,
               flags={"--max-connections-per-address": 11_000}),
    _beside("open-ports", "a byte to every port of the ranks, held", Service.strangers, **_DRAINS),
    _beside("stopped-rank", "rank 1 is stopped; requests with timeout_ms 1000", Service.stopped, polite=[KEPT, FRESH], timeout_ms=1000),
    _beside("stopped-rank-50ms", "rank 1 is stopped; requests with timeout_ms 50", Service.stopped, polite=[KEPT, FRESH],
            timeout_ms=50),
    _beside("stopped-rank-for-good", f"rank 1 is stopped and stays so, --rank-timeout {RANK_TIMEOUT}", Service.stopped,
            flags={"--rank-timeout": RANK_TIMEOUT}, ends_itself=True),
    _beside("stopped-rank-drain", "SIGUSR1 while rank 1 is stopped", attacks.ask(lambda maker: maker.scores("Is it so?"), 4),
            Service.stopped, polite=(), **_DRAINS),
    _beside("drain-long-work", "SIGUSR1 with 12 heavy requests and 2 long texts in flight", _accepted(12),
            Load(lambda maker, _: maker.repeated(" ", 16_000_000), clients=2, once=True, obeys=False),
            model="0.1b:sentencepiece-bpe", polite=(), **_DRAINS),
    _beside("sigterm-mpirun", "SIGTERM to mpirun with 4 accepted requests", _accepted(4), model="0.1b:sentencepiece-bpe",
            polite=(), end=signal.SIGTERM),
]
