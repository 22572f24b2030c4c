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
from bench.encoders.workload import COMPARED_VALUES, Measured, Workload, texts_of

_SECONDS = 600


class Server:
    """It ends with the `with` statement."""

    def __init__(self, scorecast: Path, model: Path, shape: Shape, dtype: str, kernel: str, threads: int, log: Path) -> None:
        self.name = f"scorecast:{dtype}"
        self._shape = shape
        self._bodies: dict[str, bytes] = {}
        self._service = Service(scorecast, model, 1, {"--dtype": dtype, "--kernel": kernel, "--threads": threads}, log)
        self._connection = http.client.HTTPConnection(*self._service.http_address, timeout=_SECONDS)

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._service.end()

    def run(self, workload: Workload) -> Measured:
        """The time is that from sending the request to the reply's last byte."""
        if workload.name not in self._bodies:
            self._bodies[workload.name] = json.dumps(_request(workload, self._shape)).encode()
        url = "/v1/embeddings" if workload.embeds else "/v1/score"
        cpu, begin = self._cpu_seconds(), time.perf_counter()
        self._connection.request("POST", url, self._bodies[workload.name], {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        data = response.read()
        seconds, cpu = time.perf_counter() - begin, self._cpu_seconds() - cpu
        if response.status != 200:
            raise ServiceFailed(f"{self.name}: {workload.title}: {response.status}: {data.decode(errors='replace')[:300]}")
        return Measured(seconds, cpu, _values(json.loads(data), workload))

    def _cpu_seconds(self) -> float:
        """Of all threads. /proc/PID/stat would count in hundredths of a second."""
        tasks = (task for pid in self._service.ranks for task in Path(f"/proc/{pid}/task").iterdir())
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def version(self) -> str:
        """Dtype, libraries and kernel set, from the log."""
        found = re.search(r"dtype [^;\n]+", self._service.log.read_text(errors="replace"))
        return found[0] if found else "unknown"


def _request(workload: Workload, shape: Shape) -> dict[str, object]:
    texts = texts_of(workload, shape)
    if workload.embeds:
        return {"model": shape.name, "input": [text.ids for text in texts], "encoding_format": "base64"}
    return {"query": texts[0].first, "items": [text.second for text in texts]}


def _values(reply: dict[str, list], workload: Workload) -> list[float]:
    if not workload.embeds:
        return [score for item in reply["scores"] for score in item[:COMPARED_VALUES]]
    vectors = (b64decode(each["embedding"]) for each in reply["data"])
    return [value for vector in vectors for value in struct.unpack_from(f"<{COMPARED_VALUES}f", vector)]
