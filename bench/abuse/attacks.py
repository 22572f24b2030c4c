"""What hostile clients send."""
from __future__ import annotations

import random
import time

from bench.abuse import wire
from bench.abuse.hostile import Asking, Hostile, raw_connection

_REFUSED_CLIENTS = 200
_REFUSED_BYTES = 65_000  # Less than the service counts as a long message.
_LABELS = [5, 7]


def _text_request(text: str) -> bytes:
    return wire.request(1, score=wire.score_request(text, [" yes"], _LABELS))


def refused_texts(hostile: Hostile) -> None:
    """Texts with many more tokens than the model has positions."""
    text = ("All of this is only here to be refused, and it is not short. " * (_REFUSED_BYTES // 60))[:_REFUSED_BYTES]
    message = _text_request(text)
    for _ in range(_REFUSED_CLIENTS):
        hostile.loop(Asking(hostile, message))


def emoji(hostile: Hostile) -> None:
    hostile.loop(Asking(hostile, _text_request("\N{GRINNING FACE}" * 4_000_000)))


def spaces(hostile: Hostile) -> None:
    hostile.loop(Asking(hostile, _text_request(" " * 16_000_000)))


def words(hostile: Hostile) -> None:
    """15 MB with every kind of character of a document."""
    text = "The quick brown fox, 42 of them; Größe, naïve, Здравствуй. "
    hostile.loop(Asking(hostile, _text_request(text * (15_000_000 // len(text.encode())))))


def one_word(hostile: Hostile) -> None:
    """15 MB without any place at which a tokenizer cuts."""
    hostile.loop(Asking(hostile, _text_request("abcdefghij" * 1_500_000)))


def shared_queries(hostile: Hostile, requests: int = 1000, query_tokens: int = 4000, items: int = 128) -> None:
    """Small messages with much work, on eight connections, because one may have at most 256 requests in flight."""
    connections = [hostile.connect() for _ in range(8)]
    for number in range(requests):
        # Every query is another one, so that the cache helps none of them.
        query = [(number * 7919 + i * 31) % 15_000 + 600 for i in range(query_tokens)]
        message = wire.request(number + 1, score=wire.score_request(query, [[700 + i] for i in range(items)], _LABELS))
        connection = connections[number % len(connections)]
        connection.socket.settimeout(5)
        try:
            connection.send(message)
            hostile.counts["sent"] += 1
        except OSError as fault:
            hostile.counts[type(fault).__name__] += 1
            break
    for connection in connections:
        connection.socket.settimeout(None)
        hostile.loop(lambda connection=connection: hostile.count(connection.receive()), 0.0)


def empty_messages(hostile: Hostile) -> None:
    """8 million empty items. Each takes two bytes of the frame."""
    score = wire.bytes_field(1, wire.text_or_ids([600])) + wire.bytes_field(2, b"") * 8_000_000
    hostile.loop(Asking(hostile, wire.request(1, score=score)))


def slow_senders(hostile: Hostile, clients: int = 50) -> None:
    """A byte a second of frames that never end."""
    frame = wire.frame(_text_request("x" * 10_000))

    def client() -> None:
        with raw_connection(hostile.address) as connection:
            hostile.counts["connections"] += 1
            for byte in frame:
                connection.sendall(bytes([byte]))
                connection.settimeout(1)
                try:
                    if not connection.recv(4096):
                        hostile.counts["disconnected"] += 1
                        time.sleep(1)
                        return
                    hostile.counts["replies"] += 1
                except TimeoutError:
                    pass
    for _ in range(clients):
        hostile.loop(client)


def huge_announced_frames(hostile: Hostile) -> None:
    """Frames of 2^32 - 1 bytes that are announced but never sent."""
    def client() -> None:
        with raw_connection(hostile.address) as connection:
            connection.sendall(b"\xff\xff\xff\xff" + bytes(1000))
            hostile.counts["connections"] += 1
            time.sleep(0.2)
    for _ in range(4):
        hostile.loop(client)


def leaving_clients(hostile: Hostile) -> None:
    """Clients that leave before their replies come."""
    message = _text_request("word " * 1000)

    def client() -> None:
        connection = hostile.connect()
        for _ in range(20):
            connection.send(message)
        connection.close()
        hostile.counts["connections"] += 1
    for _ in range(4):
        hostile.loop(client, 0.05)


def short_deadlines(hostile: Hostile) -> None:
    """Deadlines of 1 to 50 ms."""
    for timeout_ms in (1, 2, 5, 10, 20, 50):
        score = wire.score_request("word " * 300, [" yes", " no"], _LABELS, timeout_ms=timeout_ms)
        hostile.loop(Asking(hostile, wire.request(1, score=score)))


def mutated_frames(hostile: Hostile) -> None:
    """Requests with some bytes changed, so that most are no messages, and lengths that are wrong."""
    rng = random.Random(1)
    good = wire.frame(wire.request(1, score=wire.score_request("Is it so?", [" yes", " no"] * 10, _LABELS)))

    def client() -> None:
        connection = hostile.connect()
        connection.socket.settimeout(0.5)
        for _ in range(20):
            frame = bytearray(good)
            for _ in range(rng.randrange(1, 4)):
                frame[rng.randrange(2, len(frame))] = rng.randrange(256)
            connection.socket.sendall(frame)
        hostile.counts["connections"] += 1
        try:
            while True:
                hostile.count(connection.receive())
        except TimeoutError:
            pass  # It waits for the rest of a longer frame.
        finally:
            connection.close()
    hostile.loop(client)
