"""What hostile clients send. Each attack is a load, or clients that send pieces of bytes."""
from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterable
from itertools import repeat
from typing import Any

from bench.company import wire
from bench.company.bodies import Body, BodyMaker
from bench.company.load import Load, Raw

IDLE_CONNECTIONS = 10_000
_SLOW_CLIENTS = 50
_random = random.Random(1)
_EMOJI = "\N{GRINNING FACE}"
_REFUSED_TEXT = "All of this is only here to be refused, and it is not short. "
# Every kind of character of a document.
_DOCUMENT = "The quick brown fox, 42 of them; Größe, naïve, Здравствуй. "


def ask(body: Callable[[BodyMaker], Body], clients: int = 1) -> Load:
    """Each client sends the same request again when it has its reply."""
    return Load(lambda maker, _: body(maker), clients=clients, obeys=False)


def shared_query(maker: BodyMaker, number: int, query_tokens: int = 4000, items: int = 128) -> Body:
    """A small message with much work. Every query is another one, so that the cache helps none of them."""
    return maker.scores([(number * 7919 + i * 31) % 15_000 + 600 for i in range(query_tokens)], [[700 + i] for i in range(items)])


# Texts with many more tokens than the model has positions, in messages that the service does not count as long.
REFUSED_TEXTS = ask(lambda maker: maker.repeated(_REFUSED_TEXT, 65_000), clients=200)
EMOJI = ask(lambda maker: maker.repeated(_EMOJI, 16_000_000))
SPACES = ask(lambda maker: maker.repeated(" ", 16_000_000))
WORDS = ask(lambda maker: maker.repeated(_DOCUMENT, 15_000_000))
ONE_WORD = ask(lambda maker: maker.repeated("abcdefghij", 15_000_000))  # Tokenizers cut it nowhere.
# On eight connections, because one may have at most 256 requests in flight.
SHARED_QUERIES = Load(shared_query, bodies=1000, clients=8, in_flight=125, once=True, obeys=False)
HTTP_SHARED_QUERIES = Load(shared_query, bodies=200, clients=200, obeys=False)
SHORT_DEADLINES = Load(lambda maker, n: maker.scores("word " * 300, [" yes", " no"], timeout_ms=(1, 2, 5, 10, 20, 50)[n]),
                       bodies=6, clients=6, obeys=False)
EMPTY_MESSAGES = ask(lambda _: Body(wire.bytes_field(1, wire.text_or_ids([600])) + wire.bytes_field(2, b"") * 8_000_000, "score"))

EMPTY_VALUES = ask(lambda _: Body(b'{"query":"a","label_token_ids":[5],"items":[' + b",".join(repeat(b'""', 5_000_000)) + b"]",
                               "score", http=True))
NESTED_LISTS = ask(lambda _: Body(b'{"query":' + b"[" * 15_000_000, "score", http=True))
TINY_CHUNKS = ask(lambda _: Body(wire.head(None, headers={"Transfer-Encoding": "chunked"})
                                 + b"1\r\n \r\n" * 15_000_000 + b"0\r\n\r\n"))
# Half a megabyte that becomes 512 MB.
GZIP_BOMBS = ask(lambda _: Body(wire.post(gzip.compress(b'{"query":"\0', 1) + gzip.compress(b" " * (1 << 20), 9) * 512,
                                          headers={"Content-Encoding": "gzip"})), clients=8)
IDLE = Load(lambda *_: Body(wire.get("/health")), clients=IDLE_CONNECTIONS, once=True)


def _text(http: bool, text: str, items: Iterable[str] = (" yes",)) -> bytes:
    return BodyMaker(http, 1).scores(text, list(items)).message(1, "")


def _byte_by_byte(data: bytes, at_once: int = 0) -> Iterable[bytes]:
    if at_once:
        yield data[:at_once]
    yield from (bytes([byte]) for byte in data[at_once:])


def _slow(data: bytes, at_once: int = 0) -> Raw:
    """A byte a second after the first `at_once`."""
    return Raw(lambda: _byte_by_byte(data, at_once), _SLOW_CLIENTS, wait=1)


def _mutated() -> Iterable[bytes]:
    """Requests with some bytes changed, so that most are no messages, and lengths that are wrong."""
    good = _text(False, "Is it so?", [" yes", " no"] * 10)
    frames = [bytearray(good) for _ in range(20)]
    for frame in frames:
        for _ in range(_random.randrange(1, 4)):
            frame[_random.randrange(2, len(frame))] = _random.randrange(256)
    yield b"".join(frames)


def _endless_headers() -> Iterable[bytes]:
    yield wire.head(None).removesuffix(b"\r\n")
    yield from (b"X-%d: " % number + b"x" * 10_000 + b"\r\n" for number in range(1000))


def _left_in_the_middle() -> Iterable[bytes]:
    data = _text(True, "word " * 200_000)
    yield data[:len(data) // 2]


SLOW_SENDERS = _slow(_text(False, "x" * 10_000))
HUGE_FRAMES = Raw(lambda: [b"\xff\xff\xff\xff" + bytes(1000)], clients=4, wait=0.2)  # Announced, and never sent.
MUTATED_FRAMES = Raw(_mutated, wait=0.5)
LEAVING_CLIENTS = Raw(lambda: [_text(False, "word " * 1000) * 20], clients=4, pause=0.05)

SLOW_HEADERS = _slow(wire.head(None).removesuffix(b"\r\n") + b"X-Slow: " + b"x" * 10_000)
SLOW_BODIES = _slow(wire.head(10_000) + b" " * 10_000, at_once=len(wire.head(10_000)))
ENDLESS_HEADERS = Raw(_endless_headers, clients=4)
HALF_BODIES = Raw(_left_in_the_middle, clients=8, pause=0.01)
HTTP_LEAVING_CLIENTS = Raw(lambda: [_text(True, "word " * 1000) * 5], clients=4, pause=0.05)


def sampled(vocabulary: int = 151_936, biased: bool = False, in_flight: int = 1, **fields: Any) -> Load:
    """A few hundred bytes that ask for hundreds of thousands of tokens, each chosen from the whole vocabulary."""
    bias = {"logit_bias": {str(token): 0.5 for token in range(vocabulary)}} if biased else {}
    body = json.dumps({"prompt": [600, 601], "max_tokens": 1000, "ignore_eos": True, "seed": 1} | fields | bias)
    return Load(lambda *_: Body(wire.post(body.encode(), "/v1/completions")), in_flight=in_flight, obeys=False)


SAMPLED = sampled(n=128, temperature=100, top_p=0.9999, repetition_penalty=1.3)
# 16,384 completions, each of which would have its own list of 75,000 tokens.
ADJUSTED = sampled(75_000, biased=True, prompt=[[600, 601]] * 128, n=128, presence_penalty=1)
# 16,384 completions that share 4 KB of stop strings.
STOPS = sampled(prompt=[[600, 601]] * 128, n=128, max_tokens=16, stop=[f"{number:03}" + "x" * 250 for number in range(16)])
# Requests on a connection that reads no reply until it cannot send any more.
PIPELINING = Raw(lambda: repeat((wire.get("/v1/models") * 10 + _text(True, "Is it so?")) * 200), clients=8)
