"""The product itself, asked as any user would ask it: `scorecast batch` on standard input and output."""
from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.documents.requests import Request
from bench.worker_process import LineProcess, WorkerFailed


@dataclass
class Answered:
    """Requests that were asked together."""

    seconds: float  # From the asking to the last answer.
    bodies: list[dict[str, Any]]

    def total_ms(self) -> float:
        """The longest, by the answers' own timings."""
        return max(body["timings"]["total_ms"] for body in self.bodies)


class Scorecast:
    """One rank, for as long as it is in a `with`."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: dict[str, str]) -> None:
        self._process = LineProcess(name, command, log, environment)

    def __enter__(self) -> Scorecast:
        self._process.__enter__()
        return self

    def __exit__(self, *fault: Any) -> None:
        self._process.__exit__(*fault)

    def ask(self, requests: Sequence[Request], cached_tokens: int) -> Answered:
        """WorkerFailed where one is refused, or not exactly so many of its tokens were cached: what
        is timed would not be what the figure says."""
        lines = "".join(request.line(number) for number, request in enumerate(requests))
        begin = time.perf_counter()
        self._process.tell(lines)
        records = [self._process.read() for _ in requests]
        answered = Answered(time.perf_counter() - begin, [])
        for record in records:
            answered.bodies.append(self._body(record, cached_tokens))
        return answered

    def _body(self, record: dict[str, Any], cached_tokens: int) -> dict[str, Any]:
        response = record["response"]
        if not response or response["status_code"] != 200:
            fault = response["body"] if response else record["error"]
            raise WorkerFailed(f"{self._process.name}: {fault['message']}")
        cached = response["body"]["usage"]["cached_tokens"]
        if cached != cached_tokens:
            raise WorkerFailed(f"{self._process.name}: {cached} tokens were cached, not {cached_tokens}")
        return response["body"]
