"""Replicas, each with a thread on a CPU of its own, and what stands before them."""
from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.company.service import Service, ServiceFailed, last_log_line
from bench.company.wire import Address

_READY = re.compile(r"ready: requests on (\S+):(\d+), HTTP on (\S+):(\d+) \(front on host .*\)\n")
_SECONDS = 120  # In which a process must be ready.
_POLL_SECONDS = 0.05
_NGINX = """
worker_processes 1;
daemon off;
pid {work}/nginx.pid;
error_log {work}/nginx-errors.log;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  client_body_temp_path {work}/nginx-body;
  proxy_temp_path {work}/nginx-proxy;
  fastcgi_temp_path {work}/nginx-fastcgi;
  uwsgi_temp_path {work}/nginx-uwsgi;
  scgi_temp_path {work}/nginx-scgi;
  keepalive_requests 1000000;
  upstream replicas {{ least_conn; {servers} keepalive 256; }}
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://replicas; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host localhost;
                  proxy_buffering off; }}
  }}
}}
"""


def front_keys(scorecast: Path, work: Path) -> tuple[Path, Path]:
    """Files with the key of a front, and with its line for the services."""
    lines = subprocess.run([scorecast, "key", "new", "front"], capture_output=True, text=True, check=True).stdout.splitlines()
    key, line = work / "front-key", work / "front-keys"
    key.write_text(lines[0] + "\n")
    line.write_text(lines[1] + "\n")
    return key, line


class Fleet:
    """They end with the `with` statement."""

    def __init__(self, scorecast: Path, model: Path, names: list[str], keys: Path, work: Path, flags: dict[str, Any]) -> None:
        """`keys`: a file with the front's line."""
        self.directory = work / "replicas"
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        self._scorecast, self._model, self._keys, self._work, self._flags = scorecast, model, keys, work, flags
        self._cpus = dict(zip(names, _cycled(sorted(os.sched_getaffinity(0)))))
        self._starts = dict.fromkeys(names, 0)
        self.services: dict[str, Service] = {}
        try:
            for name in names:
                self.start(name)
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Fleet:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def start(self, name: str) -> None:
        self._starts[name] += 1
        flags = {"--threads": 1, "--front-key": self._keys, "--address-file": self.directory / name, **self._flags}
        log = self._work / f"replica-{name}-{self._starts[name]}.log"
        self.services[name] = Service(self._scorecast, self._model, 1, flags, log, {self._cpus[name]})

    def kill(self, name: str) -> None:
        """By SIGKILL. Its address file stays."""
        os.kill(self.services[name].ranks[0], signal.SIGKILL)
        self.services.pop(name).end()

    def drain(self, name: str, seconds: float) -> None:
        """By SIGUSR1, because mpirun ends with an error on SIGTERM. Raises ServiceFailed if it does not end, or not with code 0."""
        service = self.services.pop(name)
        service.signal(signal.SIGUSR1)
        code = service.wait(seconds)
        service.end()
        if code != 0:
            raise ServiceFailed(f"replica {name} ended with code {code}: {service.last_log_line()}")

    def end(self) -> None:
        for service in self.services.values():
            service.end()


def _cycled(values: list[int]) -> Iterator[int]:
    while True:
        yield from values


class _Process:
    """Ends with the `with` statement."""

    def __init__(self, command: list[str], log: Path) -> None:
        self.log = log
        with log.open("w") as file:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def cpu_seconds(self) -> float:
        """Of it and its children."""
        pids = [self._process.pid]
        for task in Path(f"/proc/{self._process.pid}/task").iterdir():
            pids += map(int, (task / "children").read_text().split())
        tasks = (task for pid in pids for task in Path(f"/proc/{pid}/task").iterdir())
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9

    def _failed(self) -> ServiceFailed:
        return ServiceFailed(f"{self.log.name}: {last_log_line(self.log.read_text(errors='replace'))}")


class Front(_Process):
    def __init__(self, scorecast: Path, replicas: Path, key: Path, log: Path, ports: tuple[int, int] = (0, 0)) -> None:
        """`ports`: of the socket and of HTTP; 0: any free one."""
        super().__init__([str(scorecast), "front", "--replicas", str(replicas), "--front-key", str(key), "--port", str(ports[0]),
                          "--http-port", str(ports[1])], log)
        self._scorecast, self._replicas, self._key = scorecast, replicas, key
        try:
            self.address, self.http_address = self._wait_until_ready()
        except BaseException:
            self.end()
            raise

    def __enter__(self) -> Front:
        return self

    def address_for(self, http: bool) -> Address:
        return self.http_address if http else self.address

    def beside(self, log: Path, ports: tuple[int, int] = (0, 0), replicas: Path | None = None) -> Front:
        """Another front, before the same replicas or other ones."""
        return Front(self._scorecast, replicas or self._replicas, self._key, log, ports)

    def kill(self) -> None:
        """SIGKILL."""
        self._process.kill()
        self._process.wait()

    def ready(self) -> list[str]:
        """The names of the replicas that get requests."""
        with closing(http.client.HTTPConnection(*self.http_address, timeout=10)) as connection:
            connection.request("GET", "/ready")
            return ready_names(connection.getresponse().read())

    def wait_for(self, names: list[str]) -> None:
        """Until these replicas get requests, and no others."""
        deadline = time.monotonic() + _SECONDS
        while sorted(self.ready()) != sorted(names):
            if time.monotonic() > deadline:
                raise ServiceFailed(f"the front has {self.ready()} and not {names}")
            time.sleep(_POLL_SECONDS)

    def command(self, word: str, name: str) -> None:
        """`scorecast front drain` or `undrain`, which ends when that is done."""
        host, port = self.address
        subprocess.run([self._scorecast, "front", word, name, "--connect", f"{host}:{port}", "--front-key", self._key], check=True,
                       capture_output=True, timeout=_SECONDS)

    def _wait_until_ready(self) -> tuple[Address, Address]:
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            if found := ready_line(self.log.read_text(errors="replace")):
                return found
            time.sleep(_POLL_SECONDS)
        raise self._failed()


class Stub(_Process):
    """A replica that answers at once: see bench/replicas/stub.py."""

    def __init__(self, work: Path) -> None:
        super().__init__([sys.executable, "-m", "bench.replicas.stub"], work / "stub.log")
        try:
            socket_port, http_port = self._ports()
        except BaseException:
            self.end()
            raise
        self.address: Address = "127.0.0.1", socket_port
        self.http_address: Address = "127.0.0.1", http_port
        self.list = work / "stub-list"
        self.list.write_text(f"stub 127.0.0.1:{socket_port}\n")

    def __enter__(self) -> Stub:
        return self

    def address_for(self, http: bool) -> Address:
        return self.http_address if http else self.address

    def _ports(self) -> list[int]:
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            if (text := self.log.read_text(errors="replace")).endswith("\n"):
                return list(map(int, text.split()))
            time.sleep(_POLL_SECONDS)
        raise self._failed()


class Nginx(_Process):
    """A proxy for HTTP before the same replicas, with connections that it keeps."""

    def __init__(self, replicas: list[Address], port: int, work: Path) -> None:
        file = work / "nginx.conf"
        file.write_text(_NGINX.format(work=work.resolve(), port=port,
                                      servers=" ".join(f"server {host}:{number};" for host, number in replicas)))
        super().__init__(["nginx", "-c", str(file.resolve()), "-p", str(work.resolve())], work / "nginx.log")
        self.http_address = "127.0.0.1", port

    def __enter__(self) -> Nginx:
        return self

    def address_for(self, http: bool) -> Address:
        assert http
        return self.http_address


def ready_line(log: str) -> tuple[Address, Address] | None:
    """The addresses of the request socket and of HTTP, if the front has logged them."""
    ready = _READY.search(log)
    return ((ready[1], int(ready[2])), (ready[3], int(ready[4]))) if ready else None


def ready_names(body: bytes) -> list[str]:
    """Of the replicas that are ready in the body of /ready."""
    return [replica["name"] for replica in json.loads(body)["replicas"] if replica["ready"]]
