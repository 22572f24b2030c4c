"""Clients of OpenAI, LiteLLM and Cohere that ask for embeddings."""
from __future__ import annotations

import json
import unittest
from collections.abc import Sequence
from pathlib import Path

import cohere
import litellm
import openai

from tests.clients.service import TOO_LONG, Service

MODEL = Path(__file__).parents[1] / "golden" / "encoders" / "qwen3-embed"
CASES = [case for case in json.loads((MODEL / "golden.json").read_text())["text"] if len(case["ids"]) < case["max_length"]]
PLAIN = [case for case in CASES if case["prompt_name"] is None][:4]
QUERIES = [case for case in CASES if case["prompt_name"] == "query"][:4]

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(Service("--served-model-name", "demo", "--dtype", "f32", model=MODEL, reranks=False))


class EmbeddingTest(unittest.TestCase):
    def expect_vectors(self, vectors: Sequence[Sequence[float]], cases: Sequence[dict]) -> None:
        self.assertEqual(len(vectors), len(cases))
        for vector, case in zip(vectors, cases):
            self.assertEqual(len(vector), len(case["embedding"]))
            for value, expected in zip(vector, case["embedding"]):
                self.assertAlmostEqual(value, expected, delta=2e-5)


def texts_of(cases: Sequence[dict]) -> list[str]:
    return [case["text"] for case in cases]


class OpenAi(EmbeddingTest):
    def setUp(self) -> None:
        self.client = openai.OpenAI(api_key="unused", base_url=service.url + "/v1", max_retries=0)

    def test_texts(self) -> None:
        # The client asks for base64 by itself.
        response = self.client.embeddings.create(model="demo", input=texts_of(PLAIN))
        self.expect_vectors([one.embedding for one in response.data], PLAIN)
        self.assertEqual(response.usage.prompt_tokens, sum(len(case["ids"]) for case in PLAIN))
        self.assertEqual(response.model, "demo")

    def test_floats_have_the_same_bits(self) -> None:
        floats = self.client.embeddings.create(model="demo", input=PLAIN[0]["text"], encoding_format="float")
        base64 = self.client.embeddings.create(model="demo", input=PLAIN[0]["text"])
        for a, b in zip(floats.data[0].embedding, base64.data[0].embedding):
            self.assertAlmostEqual(a, b, delta=1e-8)

    def test_ids(self) -> None:
        response = self.client.embeddings.create(model="demo", input=[case["ids"] for case in PLAIN])
        self.expect_vectors([one.embedding for one in response.data], PLAIN)

    def test_a_prompt(self) -> None:
        response = self.client.embeddings.create(model="demo", input=texts_of(QUERIES), extra_body={"prompt_name": "query"})
        self.expect_vectors([one.embedding for one in response.data], QUERIES)

    def test_errors_are_shown(self) -> None:
        for text, code in (("", "empty_input"), (TOO_LONG, "context_length_exceeded")):
            with self.assertRaises(openai.BadRequestError) as caught:
                self.client.embeddings.create(model="demo", input=text)
            self.assertEqual(caught.exception.code, code)
            self.assertEqual(caught.exception.param, "input")
            self.assertEqual(caught.exception.type, "invalid_request_error")


class LiteLlm(EmbeddingTest):
    def test_texts(self) -> None:
        response = litellm.embedding(model="openai/demo", input=texts_of(PLAIN), api_base=service.url + "/v1", api_key="unused")
        self.expect_vectors([one["embedding"] for one in response.data], PLAIN)


class Cohere(EmbeddingTest):
    def test_version_2(self) -> None:
        client = cohere.ClientV2(api_key="unused", base_url=service.url)
        response = client.embed(model="demo", texts=texts_of(QUERIES), input_type="search_query",
                                embedding_types=["float", "ubinary"])
        self.expect_vectors(response.embeddings.float_, QUERIES)
        self.assertEqual(len(response.embeddings.ubinary[0]), len(QUERIES[0]["embedding"]) // 8)
        self.assertEqual(response.meta.billed_units.input_tokens, sum(len(case["ids"]) for case in QUERIES))

    def test_version_1(self) -> None:
        client = cohere.Client(api_key="unused", base_url=service.url)
        response = client.embed(model="demo", texts=texts_of(QUERIES), input_type="search_query")
        self.expect_vectors(response.embeddings, QUERIES)

    def test_an_error_is_shown(self) -> None:
        client = cohere.ClientV2(api_key="unused", base_url=service.url)
        with self.assertRaises(cohere.BadRequestError) as caught:
            client.embed(model="demo", texts=["a"], input_type="nothing", embedding_types=["float"])
        self.assertIn("query", caught.exception.body["message"])


if __name__ == "__main__":
    unittest.main()
