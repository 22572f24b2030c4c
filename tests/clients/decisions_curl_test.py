"""Decisions by curl."""
from __future__ import annotations

import gzip
import json
import subprocess
import unittest
from typing import Any

from tests.clients.decisions import LONG_STATE, QUESTIONS, STATE, DecisionTest, answers, decision_service
from tests.clients.service import Service

BODY = json.dumps({"state": STATE, "questions": QUESTIONS}).encode()

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(decision_service())


def post(path: str, data: bytes, *arguments: str) -> tuple[int, dict[str, str], Any]:
    """Code, header and body of the response."""
    words = ["curl", "-sS", "-i", "--max-time", "60", "-H", "Content-Type: application/json", "--data-binary", "@-", *arguments,
             service.url + path]
    head, body = subprocess.run(words, input=data, capture_output=True, check=True).stdout.decode().split("\r\n\r\n", 1)
    status, *fields = head.split("\r\n")
    return int(status.split()[1]), {name.lower(): value for name, value in (field.split(": ", 1) for field in fields)}, json.loads(body)


def raw_zstd(data: bytes) -> bytes:
    """A zstd frame whose blocks are not compressed (RFC 8878)."""
    size = 64 * 1024
    blocks = [data[i:i + size] for i in range(0, len(data), size)]
    headers = [(len(block) << 3 | (i == len(blocks) - 1)).to_bytes(3, "little") for i, block in enumerate(blocks)]
    return b"\x28\xb5\x2f\xfd\xa0" + len(data).to_bytes(4, "little") + b"".join(map(bytes.__add__, headers, blocks))


class Curl(DecisionTest):
    def expect_answers(self, response: tuple[int, dict[str, str], Any], expected: dict[str, Any]) -> None:
        code, header, body = response
        self.assertEqual(code, 200, body)
        self.assertEqual(body["answers"], expected)
        self.assertRegex(header["x-typesafe-request-id"], r"^req_[0-9a-f]{32}$")

    def test_every_path(self) -> None:
        expected = answers(service)
        self.expect_plausible(expected)
        for path in ("/v1/systemone", "/systemone", "/api/v1/systemone"):
            self.expect_answers(post(path, BODY), expected)

    def test_encodings(self) -> None:
        body = json.dumps({"state": LONG_STATE * 60, "questions": {"a": QUESTIONS["key"]}, "model": None}).encode()
        self.assertGreater(len(body), 64 * 1024)
        short = json.dumps({"state": LONG_STATE, "questions": QUESTIONS}).encode()
        expected = answers(service, LONG_STATE)
        for encoding, encode in (("zstd", raw_zstd), ("gzip", gzip.compress)):
            with self.subTest(encoding):
                self.expect_answers(post("/v1/systemone", encode(short), "-H", f"Content-Encoding: {encoding}"), expected)
                code, _, error = post("/v1/systemone", encode(body), "-H", f"Content-Encoding: {encoding}")
                self.assertEqual((code, error["param"]), (400, "state"))  # It was read, and has more tokens than positions.
                code, _, error = post("/v1/systemone", encode(short)[:-9], "-H", f"Content-Encoding: {encoding}")
                self.assertEqual((code, error["reason"]), (400, "bad_content_encoding"))

    def test_duplicate_keys(self) -> None:
        for body, field in ((b'{"state":"","state":"","questions":{"a":{"type":"noul","instructions":"x"}}}', "state"),
                            (b'{"state":"","questions":{"a":{"type":"noul","instructions":"x"},"a":{"type":"noul","instructions":"y"}}}', "questions.a"),
                            (b'{"state":{"b":[{"c":1,"c":2}]},"questions":{"a":{"type":"noul","instructions":"x"}}}', "state.b[0].c")):
            with self.subTest(body):
                code, _, error = post("/v1/systemone", body)
                self.assertEqual((code, error["reason"], error["param"]), (400, "duplicate_key", field))

    def test_other_forms_are_refused_by_a_sentence(self) -> None:
        for path in ("/v1/decisions", "/v1/decide"):
            code, _, error = post(path, BODY)
            self.assertEqual((code, error["reason"]), (404, "not_supported"))
            self.assertIn("/v1/systemone", error["message"])

    def test_states_that_are_none(self) -> None:
        for state in (b"null", b"1", b"true", b"NaN"):
            with self.subTest(state):
                code, header, error = post("/v1/systemone", b'{"state":' + state + b',"questions":{"a":{"type":"noul","instructions":"x"}}}')
                self.assertEqual(code, 400)
                self.assertEqual(error["detail"], {"error_type": error["reason"], "message": error["message"]})
                self.assertRegex(header["x-typesafe-request-id"], r"^req_[0-9a-f]{32}$")


if __name__ == "__main__":
    unittest.main()
