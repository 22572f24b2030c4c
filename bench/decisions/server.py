"""`scorecast serve` of one rank, asked over HTTP one request after another."""
from __future__ import annotations

import http.client
import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.company.metrics import scrape
from bench.company.service import Service, ServiceFailed

_SECONDS = 600
_CACHE_MB = 2048
_METRICS_SECONDS = 3


@dataclass
class Reply:
    seconds: float  # From sending to the last byte, without the client's JSON.
    input_tokens: int


class Server:
    """It ends with the `with` statement."""

    def __init__(self, scorecast: Path, model: Path, dtype: str, kernel: str, threads: int, cached: bool, log: Path) -> None:
        flags = {"--dtype": dtype, "--kernel": kernel, "--threads": threads, "--kv-cache-mb": _CACHE_MB if cached else 0}
        self._service = Service(scorecast, model, 1, flags, log)
        self._connection = http.client.HTTPConnection(*self._service.http_address, timeout=_SECONDS)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._service.end()

    def decide(self, state: str, questions: dict[str, Any]) -> Reply:
        body = json.dumps({"state": state, "questions": questions}).encode()
        begin = time.perf_counter()
        self._connection.request("POST", "/v1/systemone", body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        data = response.read()
        seconds = time.perf_counter() - begin
        if response.status != 200:
            raise ServiceFailed(f"a request got {response.status}: {data.decode(errors='replace')[:300]}")
        return Reply(seconds, json.loads(data)["usage"]["input_tokens"])

    def cached_tokens(self, expected: int) -> int:
        """Tokens of all requests so far whose keys and values were cached. The service's figures may be a little old, so this
        waits until they are at least `expected`, but not for long; if that is 0, until they are not old any more."""
        deadline = time.monotonic() + _METRICS_SECONDS
        while True:
            found = int(scrape(self._service)["scorecast_cached_prompt_tokens_total"])
            if found >= expected > 0 or time.monotonic() > deadline:
                return found
            time.sleep(0.1)

    def engine(self) -> str:
        """Dtype, libraries and kernel set, from the log."""
        found = re.search(r"dtype [^;\n]+", self._service.log.read_text(errors="replace"))
        return found[0] if found else "unknown"
