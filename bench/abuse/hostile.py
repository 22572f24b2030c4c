"""Hostile clients, in a process of their own."""
from __future__ import annotations

import multiprocessing
import os
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from bench.abuse import http_wire, wire

Address = tuple[str, int]


class Hostile:
    """Runs `attack`, which starts threads with `thread` and `loop`, and returns. It ends with `stop`, which returns the
    number of each kind of event that the attack has counted."""

    def __init__(self, attack: Callable[[Hostile], None], address: Address, *, http: bool = False) -> None:
        """`http`: whether the address is that of HTTP."""
        self.address = address
        self.keep: list[http_wire.Connection] = []  # Connections that stay open.
        self._connection = http_wire.Connection if http else wire.Connection
        self.counts: Counter[str] = Counter()
        context = multiprocessing.get_context("fork")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=self._run, args=(attack, other), daemon=True)
        self._process.start()
        other.close()

    def stop(self) -> Counter[str]:
        try:
            self._pipe.send("stop")
            if self._pipe.poll(30):
                self.counts = self._pipe.recv()
        except (EOFError, OSError):
            self.counts["the attack failed"] += 1
        self.kill()
        return self.counts

    def kill(self) -> None:
        """Its connections are closed."""
        self._process.kill()
        self._process.join()

    def loop(self, client: Callable[[], None], pause: float = 0.0) -> None:
        """A thread in which `client` is called again and again. OSErrors are counted."""
        def run() -> None:
            while True:
                try:
                    client()
                except OSError as fault:
                    self.counts[type(fault).__name__] += 1
                    time.sleep(0.5)
                if pause:
                    time.sleep(pause)
        threading.Thread(target=run, daemon=True).start()

    def connect(self) -> Any:
        return self._connection(self.address)

    def ask(self, connection: Any, message: Any) -> None:
        """Sends a request, waits for its reply and counts it."""
        self.counts["sent"] += 1
        connection.send(message)
        self.count(connection.receive())

    def count(self, response: wire.Response) -> None:
        self.counts[response.reason or "ok"] += 1

    def _run(self, attack: Callable[[Hostile], None], pipe: Any) -> None:
        try:
            attack(self)
        except OSError as fault:  # Such as a service that drains.
            self.counts[type(fault).__name__] += 1
        try:
            pipe.recv()
            pipe.send(self.counts.copy())
            pipe.recv()  # Holds the connections until it is killed.
        except EOFError:
            os._exit(0)


class Asking:
    """A client that sends the same message again when it has its reply. It connects again after a fault."""

    def __init__(self, hostile: Hostile, message: bytes | http_wire.Message) -> None:
        self._hostile = hostile
        self._message = message
        self._connection: Any = None

    def __call__(self) -> None:
        try:
            self._connection = self._connection or self._hostile.connect()
            self._hostile.ask(self._connection, self._message)
        except OSError:
            if self._connection:
                self._connection.close()
                self._connection = None
            raise


def raw_connection(address: Address) -> socket.socket:
    return socket.create_connection(address, timeout=30)
