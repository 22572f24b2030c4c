"""Abuses beside which a polite client's time has a bound, on both transports at once."""
from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.company import attacks, wire
from bench.company.bodies import Body, BodyMaker
from bench.company.cases import FRESH, KEPT, LARGE_TOKENS, POLITE_REQUESTS, Company, polite_connections, polite_texts
from bench.company.load import OTHER_NETWORK_SOURCE, POLITE_SOURCE, Load, Pipelined

_BESIDE_MS = 50.0  # By which a polite request may take longer.
_TEXT_BYTES, _LONG_TEXT_BYTES = 2_000, 15_000_000
_TEXT_INTERVAL = 0.1
_SENTENCE = "The quick brown fox, 42 of them; Größe, naïve, Здравствуй. "


@dataclass(frozen=True)
class BoundedCase:
    """Hostile clients use HTTP, because the abuses that pipeline cheap requests do."""

    name: str
    title: str
    company: Sequence[Company]
    is_work: bool = False  # Whether they wait for passes, which polite requests then need, too.
    polite_is_text: bool = False  # Whether polite requests are texts of 2 KB: on HTTP to /tokenize.
    busy_loops: int = 0  # Processes that compute on the service's CPU.
    least_seconds: float = 20.0  # Of the time beside the company.
    after_seconds: float = 5.0  # For which probes are measured after it.
    model: str = "demo"
    flags: Mapping[str, Any] = field(default_factory=dict)
    transports: Sequence[str] = ("both",)

    @property
    def polite_source(self) -> str:
        return OTHER_NETWORK_SOURCE if self.is_work else POLITE_SOURCE

    def wanted_ms(self, own: float, bound: float) -> float:
        """Of polite requests' p95. Times are those of a polite request alone, and of a bounded pass. Everything takes
        so many times as long if the CPU is shared."""
        return 3 * (own + bound) if self.is_work else own + (1 + self.busy_loops) * _BESIDE_MS

    def polite(self, http: bool, interval: float, tokens: int, patience: float) -> list[Load]:
        """`interval` and `tokens` of requests that wait for passes."""
        if self.is_work:
            return [Load(lambda maker, _: maker.score(tokens - 2), POLITE_REQUESTS, source=self.polite_source, obeys=False,
                         interval=interval, connections=polite_connections(http), patience=patience)]
        if self.polite_is_text:
            return [Load(lambda maker, number: _polite_text(maker, number, http), POLITE_REQUESTS, source=self.polite_source,
                         obeys=False, interval=_TEXT_INTERVAL, connections=polite_connections(http), patience=patience)]
        return polite_texts((KEPT, FRESH), http, None, patience)


def _tokenize(text: str) -> Body:
    return Body(wire.post(json.dumps({"prompt": text}, ensure_ascii=False).encode(), "/tokenize"))


def _polite_text(maker: BodyMaker, number: int, http: bool) -> Body:
    text = f"{number} " + _SENTENCE * (_TEXT_BYTES // len(_SENTENCE.encode()))
    return _tokenize(text) if http else maker.scores(text)


def _long_texts(connections: int) -> Load:
    return Load(lambda *_: _tokenize(_SENTENCE * (_LONG_TEXT_BYTES // len(_SENTENCE.encode()))), clients=connections, obeys=False)


def _refused_posts() -> bytes:
    """Requests of 58 KB each, whose last field is at fault."""
    body = b'{"query":[' + b",".join([b"1234"] * 11_580) + b'],"items":["a"],"label_token_ids":"none"}'
    return wire.post(body) * 4


_SCRAPES = Pipelined(lambda: wire.get("/metrics") * 50, 50, 450)
_REFUSED_POSTS = Pipelined(_refused_posts, 4, 450)


def _heavy(addresses: int, **fields: Any) -> Load:
    return Load(lambda maker, _: maker.score(LARGE_TOKENS - 2, **fields), bodies=4, clients=addresses, own_addresses=True)


def _sampled(name: str, title: str, **fields: Any) -> BoundedCase:
    return BoundedCase(f"sampled-{name}", f"{title}, vocabulary of 151,936", [attacks.sampled(**fields)], is_work=True,
                       least_seconds=20.0, model="sampled")


BOUNDED = [
    BoundedCase("scrapes", "450 connections x 50 pipelined GET /metrics", [_SCRAPES]),
    BoundedCase("refused-posts", "450 x 4 pipelined POSTs of 58 KB that get a 400", [_REFUSED_POSTS]),
    BoundedCase("short-of-cpu", "both, and 3 busy processes on the service's CPU", [_SCRAPES, _REFUSED_POSTS], busy_loops=3,
                after_seconds=100.0),
    BoundedCase("long-texts", "2 connections with 15 MB texts to /tokenize", [_long_texts(2)], polite_is_text=True),
    BoundedCase("many-long-texts", "16 connections with 15 MB texts to /tokenize", [_long_texts(16)], polite_is_text=True),
    BoundedCase("many-addresses", f"240 addresses with a request of {LARGE_TOKENS} tokens each", [_heavy(240)], is_work=True,
                least_seconds=40.0, model="0.01b"),
    BoundedCase("best-priority", f"64 addresses with a request of {LARGE_TOKENS} tokens each, at priority -10",
                [_heavy(64, priority=-10)], is_work=True, least_seconds=40.0, model="0.01b"),
    _sampled("n", "128 completions", n=128, temperature=1),
    _sampled("nucleus", "16 completions, top_p 0.95", n=16, temperature=1, top_p=0.95),
    _sampled("n-nucleus", "128 completions, top_p 0.95", n=128, temperature=1, top_p=0.95),
    _sampled("penalty", "128 completions, temperature 100, top_p 0.9999, repetition_penalty 1.3", n=128, temperature=100,
             top_p=0.9999, repetition_penalty=1.3),
    _sampled("bias", "128 completions, logit_bias of every token", n=128, temperature=1, biased=True),
    _sampled("all", "4 requests for 128 completions with all of these", in_flight=4, n=128, temperature=100, top_p=0.9999,
             repetition_penalty=1.3, biased=True),
]
