"""curl, and raw connections for what curl does not send."""
from __future__ import annotations

import gzip
import json
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from tests.clients.service import DOCUMENTS, QUERY, RankingTest, Service

BODY = {"query": QUERY, "documents": DOCUMENTS}

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(Service())


def curl(*arguments: str, data: bytes = b"") -> subprocess.CompletedProcess[str]:
    """Arguments that begin with "/" are paths of the service. `data`: standard input."""
    words = [service.url + argument if argument.startswith("/") else argument for argument in arguments]
    run = subprocess.run(["curl", "-sS", "--max-time", "60", *words], input=data, capture_output=True, check=True)
    return subprocess.CompletedProcess(run.args, 0, run.stdout.decode(), run.stderr.decode())


def post(*arguments: str, data: bytes | None = None) -> tuple[int, Any]:
    """Code and body of the response to `data`, which is BODY by default."""
    data = json.dumps(BODY).encode() if data is None else data
    run = curl("-H", "Content-Type: application/json", "--data-binary", "@-", "-w", "\n%{http_code}", *arguments, data=data)
    body, code = run.stdout.rsplit("\n", 1)
    return int(code), json.loads(body)


class Curl(RankingTest):
    def expect_ranked(self, response: tuple[int, Any]) -> None:
        code, body = response
        self.assertEqual(code, 200, body)
        self.expect_ranking([(result["index"], result["relevance_score"]) for result in body["results"]])

    def test_every_path_of_rerank(self) -> None:
        responses = [post(path) for path in ("/rerank", "/v1/rerank", "/v2/rerank")]
        for response in responses:
            self.expect_ranked(response)
        self.assertEqual(len({json.dumps(body["results"]) for _, body in responses}), 1)

    def test_keeps_the_connection(self) -> None:
        run = curl("-H", "Content-Type: application/json", "-d", json.dumps(BODY), "-w", "\n%{num_connects}\n",
                   "/v1/rerank", "/v1/rerank")
        self.assertEqual(run.stdout.splitlines()[1::2], ["1", "0"])

    def test_closes_the_connection_if_asked(self) -> None:
        run = curl("-H", "Connection: close", "-i", "/v1/models")
        self.assertRegex(run.stdout, r"(?i)\r\nconnection: close\r\n")

    def test_http_1_0(self) -> None:
        self.expect_ranked(post("--http1.0", "/v1/rerank"))

    def test_gzip_body(self) -> None:
        data = gzip.compress(json.dumps(BODY).encode())
        self.expect_ranked(post("-H", "Content-Encoding: gzip", "/v1/rerank", data=data))

    def test_compressed_replies(self) -> None:
        plain = curl("/openapi.json").stdout
        long = json.dumps({"query": QUERY, "documents": DOCUMENTS * 30, "return_documents": True}).encode()
        ranked = post("/v1/rerank", data=long)[1]["results"]
        for coding in ("gzip", "zstd", "gzip, deflate, br, zstd;q=0.5"):
            fields = ["--compressed", "-H", f"Accept-Encoding: {coding}"]
            run = curl(*fields, "-v", "-w", "\n%{size_download}", "/openapi.json")
            body, size = run.stdout.rsplit("\n", 1)
            self.assertEqual(body, plain)
            self.assertLess(int(size), len(plain) / 4)
            self.assertRegex(run.stderr, r"(?i)\n< vary: accept-encoding")
            self.assertEqual(post(*fields, "/v1/rerank", data=long)[1]["results"], ranked)

    def test_broken_gzip_body(self) -> None:
        data = gzip.compress(json.dumps(BODY).encode())
        for broken in (data[:-9], b"no gzip", data[:20] + b"x" * 20):
            self.assertEqual(post("-H", "Content-Encoding: gzip", "/v1/rerank", data=broken)[0], 400)

    def test_chunked_body(self) -> None:
        self.expect_ranked(post("-H", "Transfer-Encoding: chunked", "/v1/rerank"))
        data = gzip.compress(json.dumps(BODY).encode())
        self.expect_ranked(post("-H", "Transfer-Encoding: chunked", "-H", "Content-Encoding: gzip", "/v1/rerank", data=data))

    def test_waits_for_100_continue(self) -> None:
        run = curl("-v", "-H", "Content-Type: application/json", "-H", "Expect: 100-continue", "--expect100-timeout", "30",
                   "-d", json.dumps(BODY), "/v1/rerank")
        self.assertIn("< HTTP/1.1 100 Continue", run.stderr)
        self.assertEqual(len(json.loads(run.stdout)["results"]), len(DOCUMENTS))

    def test_large_body(self) -> None:
        # curl waits for "100 Continue" by itself before a body of more than a megabyte.
        body = {"query": QUERY, "documents": DOCUMENTS, "unknown": "x" * 3_000_000}
        self.expect_ranked(post("/v1/rerank", data=json.dumps(body).encode()))

    def test_too_large_body(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            path = Path(directory) / "body"
            path.write_bytes(b" " * (17 << 20))
            run = curl("-H", "Content-Type: application/json", "-H", "Expect: 100-continue", "--data-binary", f"@{path}",
                       "-w", "\n%{http_code} %{size_upload}", "/v1/rerank")
        body, written = run.stdout.rsplit("\n", 1)
        code, size = map(int, written.split())
        self.assertEqual(code, 413)
        self.assertEqual(size, 0)  # The service refuses it before it is sent.
        self.assertIn("16777216", json.loads(body)["message"])

    def test_request_id(self) -> None:
        run = curl("-i", "-H", "X-Request-Id: a-1", "/v1/models")
        self.assertRegex(run.stdout, r"(?i)\r\nx-request-id: a-1\r\n")
        self.assertRegex(curl("-i", "/v1/models").stdout, r"(?i)\r\nx-request-id: \S+\r\n")

    def test_head(self) -> None:
        run = curl("-I", "/health")
        self.assertTrue(run.stdout.startswith("HTTP/1.1 200 "), run.stdout)

    def test_refusals(self) -> None:
        for arguments, code, word in [
                (["-X", "DELETE", "/v1/rerank"], 405, "DELETE"),
                (["/v1/rerank"], 405, "GET"),
                (["/v1/nothing"], 404, "/v1/nothing"),
                (["-d", "{}", "/v1/nothing"], 404, "/v1/nothing"),
                (["-d", "{}", "/v1/rerank"], 415, "application/x-www-form-urlencoded"),
                (["-H", "Content-Type: application/json", "-d", "{\"query\":", "/v1/rerank"], 400, "JSON"),
                (["-H", "Content-Type: application/json", "-d", "{}", "/v1/rerank"], 400, "query"),
                (["-H", "Content-Type: application/json", "-d", "{}", "/v1/responses"], 404, "/v1/chat/completions"),
                (["-H", "Content-Type: application/json", "-d", "{}", "/embed_sparse"], 404, "/embed ")]:
            with self.subTest(arguments):
                run = curl("-w", "\n%{http_code}", *arguments)
                body, found = run.stdout.rsplit("\n", 1)
                self.assertEqual(int(found), code, body)
                self.assertIn(word, json.loads(body)["message"])

    def test_resources(self) -> None:
        for path in ("/health", "/ready", "/metrics", "/info", "/v1/models", "/openapi.json", "/tokenizer_info", "/"):
            with self.subTest(path):
                run = curl("-w", "\n%{http_code}", path)
                self.assertEqual(run.stdout.rsplit("\n", 1)[1], "200", run.stdout)

    def test_without_the_page(self) -> None:
        # Some clients take GET / for the health of a service.
        self.assertRegex(curl("-i", "/").stdout, r"(?i)\r\ncontent-type: text/html")
        with Service("--no-page") as plain:
            self.assertEqual(plain.get("/"), plain.get("/health"))

    def test_server_sent_events(self) -> None:
        body = {"system_prompt": "Read the documents.", "chunks": [" The red key is in the kitchen."],
                "question": " Where is the red key?", "max_new_tokens": 8, "stream": True}
        run = curl("-N", "-i", "-H", "Content-Type: application/json", "-d", json.dumps(body), "/v1/chunked")
        head, events = run.stdout.split("\r\n\r\n", 1)
        self.assertRegex(head, r"(?i)\r\ncontent-type: text/event-stream")
        data = [line.removeprefix("data: ") for line in events.splitlines() if line.startswith("data: ")]
        self.assertEqual(data[-1], "[DONE]")
        parts = [json.loads(line) for line in data[:-1]]
        self.assertGreater(len(parts), 1)
        self.assertEqual(parts[-1]["outputs"][0]["text"], " kitchen.")

    def test_pipelining(self) -> None:
        bodies = [json.dumps({"query": QUERY, "documents": DOCUMENTS[:count]}).encode() for count in (1, 2, 3, 4)] * 5
        host, port = service.address.rsplit(":", 1)
        with socket.create_connection((host, int(port)), 60) as connection:
            connection.sendall(b"".join(
                b"POST /v1/rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                % (len(body), body) for body in bodies))
            replies = connection.makefile("rb")
            for body in bodies:
                self.assertEqual(replies.readline(), b"HTTP/1.1 200 OK\r\n")
                headers = dict(line.lower().split(b": ", 1) for line in iter(replies.readline, b"\r\n"))
                response = json.loads(replies.read(int(headers[b"content-length"])))
                self.assertEqual(len(response["results"]), len(json.loads(body)["documents"]))


if __name__ == "__main__":
    unittest.main()
