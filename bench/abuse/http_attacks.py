"""What hostile clients send over HTTP."""
from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable

from bench.abuse import http_wire
from bench.abuse.hostile import Asking, Hostile, raw_connection
from bench.abuse.http_wire import Message

_LABELS = [5, 7]
_REFUSED_CLIENTS = 200
_MEGABYTE = 1 << 20
IDLE_CONNECTIONS = 10_000


def _ask(hostile: Hostile, data: bytes) -> None:
    hostile.loop(Asking(hostile, Message(1, data)))


def _text_request(text: str) -> bytes:
    return http_wire.post(http_wire.body(text, [" yes"], _LABELS))


def refused_texts(hostile: Hostile) -> None:
    """Texts with many more tokens than the model has positions."""
    message = _text_request("All of this is only here to be refused, and it is not short. " * 1000)
    for _ in range(_REFUSED_CLIENTS):
        _ask(hostile, message)


def words(hostile: Hostile) -> None:
    """15 MB with every kind of character of a document; most are escaped."""
    text = "The quick brown fox, 42 of them; Größe, naïve, Здравствуй. "
    _ask(hostile, _text_request(text * (15_000_000 // (len(json.dumps(text)) - 2))))


def emoji(hostile: Hostile) -> None:
    """Twelve bytes of JSON each."""
    _ask(hostile, _text_request("\N{GRINNING FACE}" * 1_300_000))


def shared_queries(hostile: Hostile, clients: int = 200, query_tokens: int = 4000, items: int = 128) -> None:
    """Requests with much work, each on a connection of its own."""
    def client(number: int) -> Callable[[], None]:
        # Every query is another one, so that the cache helps none of them.
        query = [(number * 7919 + i * 31) % 15_000 + 600 for i in range(query_tokens)]
        return Asking(hostile, Message(1, http_wire.post(http_wire.body(query, [[700 + i] for i in range(items)], _LABELS))))
    for number in range(clients):
        hostile.loop(client(number))


def empty_values(hostile: Hostile) -> None:
    """5 million empty items. Each takes three bytes of the body."""
    items = b",".join([b'""'] * 5_000_000)
    _ask(hostile, http_wire.post(b'{"query":"a","items":[' + items + b'],"label_token_ids":[5]}'))


def nested_lists(hostile: Hostile) -> None:
    _ask(hostile, http_wire.post(b'{"query":' + b"[" * 15_000_000))


def tiny_chunks(hostile: Hostile) -> None:
    """A body of 15 MB in chunks of one byte."""
    head = http_wire.head(None, headers={"Transfer-Encoding": "chunked"})
    _ask(hostile, head + b"1\r\n \r\n" * 15_000_000 + b"0\r\n\r\n")


def gzip_bombs(hostile: Hostile) -> None:
    """Half a megabyte that becomes 512 MB."""
    data = gzip.compress(b'{"query":"' + bytes(1), 1) + gzip.compress(b" " * (512 * _MEGABYTE), 9)
    message = http_wire.post(data, headers={"Content-Encoding": "gzip"})
    for _ in range(8):
        _ask(hostile, message)


def endless_headers(hostile: Hostile) -> None:
    """Headers that go on for megabytes."""
    def client() -> None:
        with raw_connection(hostile.address) as connection:
            hostile.counts["connections"] += 1
            connection.sendall(b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\n")
            for number in range(1000):
                connection.sendall(b"X-%d: " % number + b"x" * 10_000 + b"\r\n")
    for _ in range(4):
        hostile.loop(client)


def _slow_senders(hostile: Hostile, data: bytes, at_once: int, clients: int = 50) -> None:
    """A byte a second after the first `at_once`."""
    def client() -> None:
        with raw_connection(hostile.address) as connection:
            hostile.counts["connections"] += 1
            connection.sendall(data[:at_once])
            for byte in data[at_once:]:
                connection.sendall(bytes([byte]))
                connection.settimeout(1)
                try:
                    reply = connection.recv(4096)
                    if not reply:
                        hostile.counts["disconnected"] += 1
                        time.sleep(1)
                        return
                    hostile.counts[reply.split(b" ")[1].decode()] += 1
                except TimeoutError:
                    pass
    for _ in range(clients):
        hostile.loop(client)


def slow_headers(hostile: Hostile) -> None:
    _slow_senders(hostile, b"POST /v1/score HTTP/1.1\r\nHost: localhost\r\nX-Slow: " + b"x" * 10_000, 0)


def slow_bodies(hostile: Hostile) -> None:
    head = http_wire.head(10_000)
    _slow_senders(hostile, head + b" " * 10_000, len(head))


def half_bodies(hostile: Hostile) -> None:
    """Clients that leave in the middle of a body of a megabyte."""
    data = _text_request("word " * 200_000)

    def client() -> None:
        with raw_connection(hostile.address) as connection:
            connection.sendall(data[:len(data) // 2])
            hostile.counts["connections"] += 1
    for _ in range(8):
        hostile.loop(client, 0.01)


def leaving_clients(hostile: Hostile) -> None:
    """Clients that leave before their replies come."""
    data = _text_request("word " * 1000)

    def client() -> None:
        with raw_connection(hostile.address) as connection:
            connection.sendall(data * 5)
            hostile.counts["connections"] += 1
    for _ in range(4):
        hostile.loop(client, 0.05)


def pipelining(hostile: Hostile) -> None:
    """Thousands of requests on a connection that reads no reply until it cannot send any more."""
    flood = (http_wire.get("/v1/models") * 10 + _text_request("Is it so?")) * 200

    def client() -> None:
        with raw_connection(hostile.address) as connection:
            hostile.counts["connections"] += 1
            connection.settimeout(2)
            try:
                while True:
                    connection.sendall(flood)
                    hostile.counts["floods"] += 1
            except TimeoutError:
                hostile.counts["blocked"] += 1
    for _ in range(8):
        hostile.loop(client)


def idle_connections(hostile: Hostile) -> None:
    """Connections that are kept after one request each."""
    connections = [http_wire.Connection(hostile.address) for _ in range(IDLE_CONNECTIONS)]
    for connection in connections:
        connection.send(Message(1, http_wire.get("/health")))
    for connection in connections:
        hostile.count(connection.receive())
    hostile.keep = connections


ATTACKS = [refused_texts, words, emoji, shared_queries, empty_values, nested_lists, tiny_chunks, gzip_bombs, endless_headers,
           slow_headers, slow_bodies, half_bodies, leaving_clients, pipelining]
