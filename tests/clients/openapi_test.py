"""schemathesis: requests that it makes from /openapi.json, valid and not, bring no response of 5xx, and those that come
are as /openapi.json says. Clients that generators make of it rerank and score."""
from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

from tests.clients.decisions import decision_service
from tests.clients.service import DOCUMENTS, QUERY, RankingTest, Service

# A deadline in a request may pass, and sometimes schemathesis draws a short one.
CONFIG = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "504"]
"""
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_schema_conformance",
          "unsupported_method", "negative_data_rejection"]
EXAMPLES = 25  # For each endpoint.
KEY = "sk-test-0123456789abcdef"
OPEN = ["/health", "/ping", "/ready", "/weaviate/.well-known/ready"]  # To those who have no key.


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


SCORE = {"query": "Yes or no? ", "items": ["The sky is blue.", "Dogs bark."], "label_token_ids": [5, 6], "apply_softmax": True}


class GeneratedClients(RankingTest):
    def setUp(self) -> None:
        self.service = self.enterContext(Service())
        self.directory = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.document = self.directory / "openapi.json"
        self.document.write_text(json.dumps(self.service.get("/openapi.json")))
        self.scores = self.service.post("/v1/score", SCORE)["scores"]
        sys.path.insert(0, str(self.directory))
        self.addCleanup(sys.path.remove, str(self.directory))

    def generate(self, program: str, *arguments: str) -> str:
        run = subprocess.run([Path(sys.executable).parent / program, "generate", *arguments], cwd=self.directory,
                             capture_output=True, text=True, timeout=300)
        output = run.stdout + run.stderr
        self.assertEqual(run.returncode, 0, output)
        return output

    def test_openapi_python_client(self) -> None:
        (self.directory / "config.yaml").write_text("post_hooks: []\n")
        output = self.generate("openapi-python-client", "--path", "openapi.json", "--config", "config.yaml",
                               "--meta", "none", "--output-path", "attrs_client", "--fail-on-warning")
        self.assertNotIn("WARNING", output)
        library = importlib.import_module("attrs_client")
        models = importlib.import_module("attrs_client.models")
        rerank = importlib.import_module("attrs_client.api.default.rerank")
        score = importlib.import_module("attrs_client.api.default.score")
        with library.Client(base_url=self.service.url) as client:
            ranked = rerank.sync(client=client, body=models.RerankRequest(query=QUERY, documents=DOCUMENTS))
            self.assertIsInstance(ranked, models.CohereRerankResponse)
            self.expect_ranking([(one.index, one.relevance_score) for one in ranked.results])
            scored = score.sync(client=client, body=models.ScoreRequest.from_dict(SCORE))
            self.assertIsInstance(scored, models.ScoreResponse)
            self.assertEqual(scored.scores, self.scores)
            refused = rerank.sync(client=client, body=models.RerankRequest(query=QUERY, documents=DOCUMENTS, top_n=-1))
            self.assertIsInstance(refused, models.RerankErrorBody)

    @unittest.skipUnless(shutil.which("java"), "openapi-generator needs Java")
    def test_openapi_generator(self) -> None:
        self.generate("openapi-generator-cli", "-i", "openapi.json", "-g", "python", "-o", ".",
                      "--package-name", "pydantic_client",
                      "--global-property", "apis,models,supportingFiles,apiTests=false,modelTests=false,apiDocs=false,modelDocs=false")
        library = importlib.import_module("pydantic_client")
        api = library.DefaultApi(library.ApiClient(library.Configuration(host=self.service.url)))
        ranked = api.rerank(library.RerankBody.from_dict({"query": QUERY, "documents": DOCUMENTS}))
        self.expect_ranking([(one.index, one.relevance_score) for one in ranked.actual_instance.results])
        scored = api.score(library.ScoreBody.from_dict(SCORE))
        self.assertEqual(scored.actual_instance.to_dict()["scores"], self.scores)
        with self.assertRaises(library.ApiException) as caught:
            api.rerank(library.RerankBody.from_dict({"query": QUERY, "documents": DOCUMENTS, "truncation_direction": "up"}))
        self.assertEqual(caught.exception.status, 400)


if __name__ == "__main__":
    unittest.main()
