"""The heavy clients beside which polite ones are measured."""
from __future__ import annotations

from dataclasses import dataclass, replace

from bench.fairness.bodies import Body, BodyMaker
from bench.fairness.load import Load

OVERLOAD = 10  # Times the capacity.
LARGE_TOKENS = 8192
STREAM_TOKENS = 2048
STREAM_PROMPT_TOKENS = 64


@dataclass(frozen=True)
class Case:
    """`title` may contain the number of tokens of a long request."""

    name: str
    title: str
    load: Load
    overload: float | None = None  # Beside polite clients, requests come at this multiple of the measured capacity.
    uses_long_requests: bool = False  # `load` has none until `with_long_requests`.

    def with_long_requests(self, tokens: int) -> Case:
        load = replace(self.load, body=lambda maker: long_request(maker, tokens)) if self.uses_long_requests else self.load
        return replace(self, load=load, title=self.title.format(tokens=tokens))


def _ordinary(maker: BodyMaker) -> Body:
    """300 tokens with ten items of 20."""
    return maker.score(300, 10, 20)


def _batch_line(maker: BodyMaker) -> Body:
    """300 tokens with 50 items of 10."""
    return maker.score(300, 50, 10)


def large_request(maker: BodyMaker) -> Body:
    return maker.score(LARGE_TOKENS - 2, 2, 1)


def long_request(maker: BodyMaker, tokens: int) -> Body:
    return maker.score(tokens - 2, 2, 1)


def stream_request(maker: BodyMaker) -> Body:
    return maker.stream(STREAM_PROMPT_TOKENS, STREAM_TOKENS)


CASES = [
    Case("hog", "one hog, 256 requests in flight", Load(_ordinary, in_flight=256)),
    Case("hogs", "16 hogs of one address, 16 requests each", Load(_ordinary, clients=16, in_flight=16)),
    Case("hogs-of-256", "16 hogs of one address, 256 requests each",
         Load(_ordinary, clients=16, in_flight=256)),
    Case("hogs-with-addresses", "16 hogs with an address each, 16 requests each",
         Load(_ordinary, clients=16, in_flight=16, own_addresses=True)),
    Case("open-loop", f"an open loop at {OVERLOAD} x the capacity", Load(_ordinary, in_flight=256), overload=OVERLOAD),
    Case("long", "4 requests of {tokens:,} tokens in flight", Load(large_request, in_flight=4), uses_long_requests=True),
    Case("large", f"6 requests of {LARGE_TOKENS} tokens in flight", Load(large_request, in_flight=6)),
    Case("streams", f"16 completions of {STREAM_TOKENS} tokens, as streams", Load(stream_request, in_flight=16)),
    Case("batch", "a batch on one connection, as fast as it is read (HTTP: on 32 connections)",
         Load(_batch_line, in_flight=1024, http_in_flight=32)),
]
