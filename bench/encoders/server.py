"""`scorecast serve` of one rank with a random encoder, asked over HTTP with token ids."""
from __future__ import annotations

import http.client
import json
import re
import struct
import time
from base64 import b64decode
from pathlib import Path

from bench.company.service import Service, ServiceFailed
from bench.encoders.shapes import Shape
from bench.encoders.workload import COMPARED_VALUES, Measured, Text, Workload, texts_of

_SECONDS = 600


class Server:
    """It ends with the `with` statement."""

    def __init__(self, scorecast: Path, model: Path, shape: Shape, dtype: str, kernel: str, threads: int, max_pass_ms: int,
                 log: Path) -> None:
        self.name = f"scorecast:{dtype}"
        self._shape = shape
        self._bodies: dict[str, bytes] = {}
        self._service = Service(scorecast, model, 1, {"--dtype": dtype, "--kernel": kernel, "--threads": threads,
                                                      "--max-pass-ms": max_pass_ms}, log)
        self._connection = http.client.HTTPConnection(*self._service.http_address, timeout=_SECONDS)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._service.end()

    def run(self, workload: Workload) -> Measured:
        """The time is that from sending the request to the reply's last byte."""
        if workload.name not in self._bodies:
            self._bodies[workload.name] = _body(texts_of(workload, self._shape), workload.embeds)
        self._connect()
        cpu, begin = self._service.cpu_seconds(), time.perf_counter()
        data = self._reply(self._bodies[workload.name], workload.embeds, workload.title)
        seconds, cpu = time.perf_counter() - begin, self._service.cpu_seconds() - cpu
        return Measured(seconds, cpu, [value for result in _results(data, workload.embeds) for value in result[:COMPARED_VALUES]])

    def results(self, texts: list[Text], embeds: bool) -> list[list[float]]:
        """The vector of each text, or the logits of each pair. All pairs have the query of the first."""
        self._connect()
        return _results(self._reply(_body(texts, embeds), embeds, f"{len(texts)} texts"), embeds)

    def _connect(self) -> None:
        """Anew, because the service closes connections that are idle for as long as other engines may take."""
        self._connection.close()
        self._connection.connect()

    def _reply(self, body: bytes, embeds: bool, title: str) -> bytes:
        self._connection.request("POST", "/v1/embeddings" if embeds else "/v1/score", body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        data = response.read()
        if response.status != 200:
            raise ServiceFailed(f"{self.name}: {title}: {response.status}: {data.decode(errors='replace')[:300]}")
        return data

    def version(self) -> str:
        """Dtype, libraries and kernel set, from the log."""
        found = re.search(r"dtype [^;\n]+", self._service.log.read_text(errors="replace"))
        return found[0] if found else "unknown"


def _body(texts: list[Text], embeds: bool) -> bytes:
    if embeds:
        return json.dumps({"input": [text.ids for text in texts], "encoding_format": "base64"}).encode()
    return json.dumps({"query": texts[0].first, "items": [text.second for text in texts]}).encode()


def _results(data: bytes, embeds: bool) -> list[list[float]]:
    reply = json.loads(data)
    if not embeds:
        return reply["scores"]
    vectors = [b64decode(each["embedding"]) for each in reply["data"]]
    return [list(struct.unpack(f"<{len(vector) // 4}f", vector)) for vector in vectors]
