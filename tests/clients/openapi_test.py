"""schemathesis: requests that it makes from /openapi.json, valid and not, bring no response of 5xx, and those that come
are as /openapi.json says."""
from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

from tests.clients.decisions import decision_service
from tests.clients.service import DOCUMENTS, QUERY

# A deadline in a request may pass, and sometimes schemathesis draws a short one.
CONFIG = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "504"]
"""
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
          "unsupported_method", "negative_data_rejection"]
EXAMPLES = 25  # For each endpoint.
KEY = "sk-test-0123456789abcdef"
OPEN = ["/health", "/ping", "/ready"]  # To those who have no key.


def expect_good_responses(test: unittest.TestCase, url: str, directory: str, *flags: str) -> None:
    config = Path(directory) / "schemathesis.toml"
    config.write_text(CONFIG)
    program = Path(sys.executable).parent / "schemathesis"
    run = subprocess.run(
        [program, "--config-file", config, "--no-color", "run", "--checks", ",".join(CHECKS),
         "--seed", "1", "--no-shrink", "--request-timeout", "20", "--suppress-health-check", "all", *flags, url + "/openapi.json"],
        cwd=directory, capture_output=True, text=True, timeout=400)
    test.assertEqual(run.returncode, 0, run.stdout + run.stderr)


class OpenApi(unittest.TestCase):
    def test_responses(self) -> None:
        with decision_service() as service, tempfile.TemporaryDirectory() as directory:
            ranking = service.post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})["results"]
            expect_good_responses(self, service.url, directory, "--phases", "examples,coverage,fuzzing",
                                  "--max-examples", str(EXAMPLES))
            self.assertEqual(service.post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})["results"], ranking)


class OpenApiWithKeys(unittest.TestCase):
    def test_responses(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            keys = Path(directory) / "keys"
            keys.touch(0o600)
            keys.write_text(f"tester {KEY}\n")
            with decision_service("--api-keys", str(keys)) as service:
                expect_good_responses(self, service.url, directory, "--phases", "examples,fuzzing", "--max-examples", "1",
                                      "--header", f"Authorization: Bearer {KEY}")
                request = urllib.request.Request(service.url + "/openapi.json", headers={"api-key": KEY})
                with urllib.request.urlopen(request) as response:
                    document = json.load(response)
                # And without a key nothing is to be had.
                for path, operations in document["paths"].items():
                    for method in operations:
                        with self.subTest(path=path, method=method):
                            code, body = service.ask(path, {} if method == "post" else None)
                            self.assertEqual(code, 200 if path in OPEN else 401, body)


if __name__ == "__main__":
    unittest.main()
