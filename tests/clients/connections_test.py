"""Ten thousand idle connections, and clients that send slowly, beside a polite one."""
from __future__ import annotations

import http.client
import json
import resource
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

from tests.clients.service import DOCUMENTS, QUERY, RankingTest, Service

IDLE = 10_000
POLITE = "127.0.0.2"  # Another address than that of the others.
BODY = json.dumps({"query": QUERY, "documents": DOCUMENTS})


def raise_descriptor_limit() -> int:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def split(service: Service) -> tuple[str, int]:
    host, port = service.address.rsplit(":", 1)
    return host, int(port)


def client_hello(context: ssl.SSLContext) -> bytes:
    """The first message of a handshake."""
    sent = ssl.MemoryBIO()
    session = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname="127.0.0.1")
    try:
        session.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return sent.read()


class Connections(RankingTest):
    def polite_requests(self, service: Service, count: int) -> list[float]:
        """Expects the same right response to all. Returns the seconds that each took."""
        client = http.client.HTTPConnection(*split(service), timeout=30, source_address=(POLITE, 0))
        times = []
        results = []
        for _ in range(count):
            begin = time.monotonic()
            client.request("POST", "/v1/rerank", BODY, {"Content-Type": "application/json"})
            response = client.getresponse()
            body = response.read()
            times.append(time.monotonic() - begin)
            self.assertEqual(response.status, 200, body)
            results.append(json.loads(body)["results"])
        client.close()
        self.expect_ranking([(result["index"], result["relevance_score"]) for result in results[0]])
        self.assertTrue(all(result == results[0] for result in results))
        return times

    def test_idle_connections(self) -> None:
        if raise_descriptor_limit() < IDLE + 1000:
            self.skipTest(f"fewer than {IDLE + 1000} file descriptors are allowed")
        with Service("--max-connections-per-address", str(IDLE + 500)) as service:
            alone = self.polite_requests(service, 50)
            idle = []
            for _ in range(IDLE):
                connection = socket.create_connection(split(service), 30)
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                idle.append(connection)
            for connection in idle:
                self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 200 "))
            beside = self.polite_requests(service, 50)
            for connection in idle[::100]:  # They are still open, and of use.
                connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                self.assertTrue(connection.recv(4096).startswith(b"HTTP/1.1 200 "))
            for connection in idle:
                connection.close()
            medians = [f"{1000 * sorted(times)[len(times) // 2]:.2f} ms" for times in (alone, beside)]
            print(f"median alone {medians[0]}, beside {IDLE} idle connections {medians[1]}")

    def test_half_open_handshakes(self) -> None:
        if raise_descriptor_limit() < IDLE + 1000:
            self.skipTest(f"fewer than {IDLE + 1000} file descriptors are allowed")
        with tempfile.TemporaryDirectory() as directory:
            certificate, key = f"{directory}/cert.pem", f"{directory}/key.pem"
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
                            "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True)
            context = ssl.create_default_context(cafile=certificate)
            with Service("--tls-cert", certificate, "--tls-key", key) as service:
                alone = self.polite_handshakes(service, context)
                hello = client_hello(context)
                half_open = []
                for i in range(IDLE):
                    connection = socket.create_connection(split(service), 30, source_address=(f"127.0.0.{3 + i % 2}", 0))
                    connection.sendall(hello)
                    half_open.append(connection)
                beside = self.polite_handshakes(service, context)
                for connection in half_open:
                    connection.close()
        medians = [f"{1000 * sorted(times)[len(times) // 2]:.2f} ms" for times in (alone, beside)]
        print(f"median of a handshake and a request alone {medians[0]}, beside {IDLE} half-open handshakes {medians[1]}, "
              f"longest {1000 * max(beside):.2f} ms")

    def polite_handshakes(self, service: Service, context: ssl.SSLContext) -> list[float]:
        """The seconds of connections, each with a request."""
        times = []
        for _ in range(30):
            begin = time.monotonic()
            client = http.client.HTTPSConnection(*split(service), timeout=30, source_address=(POLITE, 0), context=context)
            client.request("POST", "/v1/rerank", BODY, {"Content-Type": "application/json"})
            self.assertEqual(client.getresponse().status, 200)
            times.append(time.monotonic() - begin)
            client.close()
        return times

    def test_slow_loris(self) -> None:
        with Service("--max-connections", "64", "--read-timeout", "2") as service:
            begin = b"POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\n"
            for sent in (begin + b"X-Slow: ",
                         begin + b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"):
                slow = [socket.create_connection(split(service), 30) for _ in range(32)]
                for connection in slow:
                    connection.sendall(sent)
                end = time.monotonic() + 4
                while time.monotonic() < end:
                    self.polite_requests(service, 5)
                    for connection in slow:
                        try:
                            connection.sendall(b" ")
                        except OSError:
                            pass  # The service has had enough.
                    time.sleep(0.2)
                for connection in slow:
                    connection.settimeout(10)
                    reply = b""
                    try:
                        while part := connection.recv(4096):
                            reply += part
                    except ConnectionResetError:
                        pass
                    self.assertTrue(reply.startswith(b"HTTP/1.1 408 ") or not reply, reply)
                    connection.close()


if __name__ == "__main__":
    unittest.main()
