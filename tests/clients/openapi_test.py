"""schemathesis: requests that it makes from /openapi.json, valid and not, bring no response of 5xx, and those that come
are as /openapi.json says."""
from __future__ import annotations

import subprocess
import sys
import tempfile
import unittest
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


class OpenApi(unittest.TestCase):
    def test_responses(self) -> None:
        with decision_service() as service, tempfile.TemporaryDirectory() as directory:
            ranking = service.post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})["results"]
            config = Path(directory) / "schemathesis.toml"
            config.write_text(CONFIG)
            program = Path(sys.executable).parent / "schemathesis"
            run = subprocess.run(
                [program, "--config-file", config, "--no-color", "run", "--checks", ",".join(CHECKS),
                 "--phases", "examples,coverage,fuzzing", "--max-examples", str(EXAMPLES), "--seed", "1", "--no-shrink",
                 "--request-timeout", "20", "--suppress-health-check", "all", service.url + "/openapi.json"],
                cwd=directory, capture_output=True, text=True, timeout=400)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            self.assertEqual(service.post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS})["results"], ranking)


if __name__ == "__main__":
    unittest.main()
