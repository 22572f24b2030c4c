"""The files of deploy/: two services behind nginx and behind HAProxy, which are restarted under load."""
from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from collections import Counter
from pathlib import Path

from tests.clients.service import DOCUMENTS, QUERY, RankingTest, Service

DEPLOY = Path(__file__).parents[2] / "deploy"
BODY = json.dumps({"query": QUERY, "documents": DOCUMENTS})
STREAM = json.dumps({"prompt": QUERY, "max_tokens": 64, "ignore_eos": True, "stream": True})
CLIENTS = 4


def program(name: str) -> str:
    found = shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")
    if found is None:
        raise unittest.SkipTest(f"{name} is not installed")
    return found


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Load:
    """Clients that send requests on connections that they keep, until the `with` statement ends."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(CLIENTS)]
        self._lock = threading.Lock()
        self.results: Counter[str] = Counter()

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        client = http.client.HTTPConnection("127.0.0.1", self._port, timeout=30)
        while not self._ends.is_set():
            try:
                client.request("POST", "/v1/rerank", BODY, {"Content-Type": "application/json"})
                response = client.getresponse()
                body = response.read().decode()
                result = "200" if response.status == 200 else f"{response.status}: {body[:200]}"
            except (OSError, http.client.HTTPException) as fault:
                result = repr(fault)
                client.close()
            with self._lock:
                self.results[result] += 1
        client.close()


class Proxies(RankingTest):
    def setUp(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self.directory = Path(self._directory.name)
        self.port, *self.backends = free_ports(3)

    def tearDown(self) -> None:
        self._directory.cleanup()

    def configuration(self, name: str) -> str:
        """A file of deploy/ with the ports of this test."""
        text = (DEPLOY / name).read_text()
        for written, own in zip(("127.0.0.1:8080", "127.0.0.1:7480", "127.0.0.1:7481"), (self.port, *self.backends)):
            self.assertIn(written, text)
            text = text.replace(written, f"127.0.0.1:{own}")
        return text

    def expect_all_answered(self, command: list[str], stop: signal.Signals) -> None:
        """Expects that the proxy's clients notice nothing of restarts."""
        services = [Service(http_port=port) for port in self.backends]
        proxy = subprocess.Popen(command)
        try:
            self.wait_for_proxy()
            self.check_forwarding()
            # On a busy machine a proxy may look too late at a service. It is then seen to be right the next time.
            for _ in range(3):
                load = self.load_beside_restarts(services)
                if set(load.results) == {"200"}:
                    break
                print(f"{Path(command[0]).name}: {dict(load.results)}")
            self.assertEqual(set(load.results), {"200"}, load.results)
            self.assertGreater(load.results["200"], 50)
            print(f"{Path(command[0]).name}: {load.results['200']} requests beside two restarts, none failed")
        finally:
            proxy.send_signal(stop)
            proxy.wait(30)
            for service in services:
                service.__exit__()

    def load_beside_restarts(self, services: list[Service]) -> Load:
        with Load(self.port) as load:
            time.sleep(1)
            for i, port in enumerate(self.backends):
                services[i].__exit__()
                time.sleep(1)
                services[i] = Service(http_port=port)
                time.sleep(2.5)  # A proxy that looks each second has seen that it is ready.
        return load

    def wait_for_proxy(self) -> None:
        end = time.monotonic() + 10
        while True:
            try:
                status, _ = self.ask("GET", "/ready")
            except OSError:
                status = 0
            if status == 200 or time.monotonic() > end:
                break
            time.sleep(0.1)
        self.assertEqual(status, 200)

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes]:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        client.request(method, path, body, {"Content-Type": "application/json"})
        response = client.getresponse()
        result = response.status, response.read()
        client.close()
        return result

    def check_forwarding(self) -> None:
        status, body = self.ask("POST", "/v1/rerank", BODY)
        self.assertEqual(status, 200, body)
        self.expect_ranking([(one["index"], one["relevance_score"]) for one in json.loads(body)["results"]])
        for path in ("/metrics", "/metrics/", "//metrics", "/%6Detrics"):
            status, body = self.ask("GET", path)
            self.assertEqual(status, 404, path)
            self.assertNotIn(b"scorecast_", body, path)
        large = json.dumps({"query": QUERY, "documents": [DOCUMENTS[0] * 10] * 200})
        status, body = self.ask("POST", "/v1/rerank", large)
        self.assertEqual((status, len(json.loads(body)["results"])), (200, 200))
        # Deltas come as they are computed. On a busy machine, those that were not read yet come together.
        for _ in range(5):
            parts = self.stream_in_parts()
            self.assertTrue(b"".join(parts).endswith(b"data: [DONE]\n\n"), parts)
            if len(parts) > 3:
                break
        self.assertGreater(len(parts), 3)

    def stream_in_parts(self) -> list[bytes]:
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        client.request("POST", "/v1/completions", STREAM, {"Content-Type": "application/json"})
        response = client.getresponse()
        self.assertEqual(response.status, 200)
        parts = []
        while part := response.read1():
            parts.append(part)
        client.close()
        return parts

    def test_nginx(self) -> None:
        nginx = program("nginx")
        include = self.directory / "scorecast.conf"
        include.write_text(self.configuration("nginx.conf"))
        own = self.directory / "nginx.conf"
        temporary = "".join(f"{kind}_temp_path {self.directory}/{kind};\n"
                            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;\n" if os.geteuid() == 0 else ""
        own.write_text(f"{user}daemon off;\npid {self.directory}/pid;\nerror_log stderr crit;\nevents {{}}\n"
                       f"http {{\naccess_log off;\n{temporary}include {include};\n}}\n")
        self.expect_all_answered([nginx, "-e", "stderr", "-c", str(own)], signal.SIGQUIT)

    def test_haproxy(self) -> None:
        haproxy = program("haproxy")
        own = self.directory / "haproxy.cfg"
        own.write_text(self.configuration("haproxy.cfg"))
        self.expect_all_answered([haproxy, "-q", "-db", "-f", str(own)], signal.SIGTERM)


if __name__ == "__main__":
    unittest.main()
