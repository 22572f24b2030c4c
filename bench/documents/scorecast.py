"""The product as a user runs it: `scorecast batch` on standard input and output."""
from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.documents.requests import Request
from bench.worker_process import LineProcess, WorkerFailed


def batch_command(scorecast: Path, model: Path, dtype: str, kernel: str, threads: int, kv_cache_mb: int) -> list[str]:
    return [str(scorecast.resolve()), "batch", "--model", str(model), "--input", "-", "--output", "-", "--dtype", dtype,
            "--kernel", kernel, "--threads", str(threads), "--kv-cache-mb", str(kv_cache_mb)]


@dataclass
class Responses:
    """Responses to requests that were sent together."""

    seconds: float  # From sending to the last response.
    bodies: list[dict[str, Any]]

    def total_ms(self) -> float:
        """The longest time in the responses' own timings."""
        return max(body["timings"]["total_ms"] for body in self.bodies)


class Scorecast:
    """One rank. It ends with the `with` statement."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environment: dict[str, str]) -> None:
        self._process = LineProcess(name, command, log, environment)

    def __enter__(self) -> Scorecast:
        self._process.__enter__()
        return self

    def __exit__(self, *fault: Any) -> None:
        self._process.__exit__(*fault)

    def ask(self, requests: Sequence[Request], cached_tokens: int) -> Responses:
        """Sends requests and waits for the responses.

        Raises WorkerFailed if one is refused, or if the number of cached tokens is not `cached_tokens`, because
        the time would then not be that of the figure.
        """
        lines = "".join(request.line(number) for number, request in enumerate(requests))
        begin = time.perf_counter()
        self._process.tell(lines)
        records = [self._process.read() for _ in requests]
        responses = Responses(time.perf_counter() - begin, [])
        for record in records:
            responses.bodies.append(self._body(record, cached_tokens))
        return responses

    def _body(self, record: dict[str, Any], cached_tokens: int) -> dict[str, Any]:
        response = record["response"]
        if not response or response["status_code"] != 200:
            fault = response["body"] if response else record["error"]
            raise WorkerFailed(f"{self._process.name}: {fault['message']}")
        cached = response["body"]["usage"]["cached_tokens"]
        if cached != cached_tokens:
            raise WorkerFailed(f"{self._process.name}: {cached} tokens were cached, not {cached_tokens}")
        return response["body"]
