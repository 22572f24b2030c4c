"""Clients that ask what a model is before they use it: those of OpenAI and of Xinference, as which Dify asks, too."""
from __future__ import annotations

import unittest

import cohere
import openai
from xinference_client import RESTfulClient
from xinference_client.client.restful.restful_client import RESTfulEmbeddingModelHandle, RESTfulRerankModelHandle

from tests.clients.embeddings_test import MODEL, PLAIN
from tests.clients.service import DOCUMENTS, QUERY, RankingTest, Service

NAME = "org/demo"


class Reranker(RankingTest):
    @classmethod
    def setUpClass(cls) -> None:
        cls.service = cls.enterClassContext(Service("--served-model-name", NAME))

    def test_openai(self) -> None:
        client = openai.OpenAI(api_key="unused", base_url=self.service.url + "/v1", max_retries=0)
        model = client.models.retrieve(NAME)
        self.assertEqual(model.id, NAME)
        self.assertEqual([one.id for one in client.models.list()], [NAME])
        with self.assertRaises(openai.NotFoundError) as caught:
            client.models.retrieve("org/other")
        self.assertEqual(caught.exception.code, "model_not_found")

    def test_xinference(self) -> None:
        client = RESTfulClient(self.service.url)
        model = client.get_model(NAME)
        self.assertIsInstance(model, RESTfulRerankModelHandle)
        ranked = model.rerank(documents=DOCUMENTS, query=QUERY)
        self.expect_ranking([(one["index"], one["relevance_score"]) for one in ranked["results"]])
        self.assertIn("rerank", client.describe_model(NAME)["model_ability"])
        with self.assertRaisesRegex(RuntimeError, "does not exist"):
            client.get_model("other")

    def test_a_base_url_with_the_version(self) -> None:
        for make_client in (cohere.Client, cohere.ClientV2):
            for base in ("/v1", "/", "/v1/"):
                client = make_client(api_key="unused", base_url=self.service.url + base)
                ranked = client.rerank(model=NAME, query=QUERY, documents=DOCUMENTS)
                self.expect_ranking([(one.index, one.relevance_score) for one in ranked.results])

    def test_the_error_of_a_wrong_url(self) -> None:
        code, error = self.service.ask("/v1/reranker", {})
        self.assertEqual(code, 404)
        self.assertIn("Did you mean /v1/rerank?", error["message"])
        self.assertEqual(error["detail"], error["message"])
        self.assertEqual(error["error"], error["message"])


class Embedder(unittest.TestCase):
    def test_xinference(self) -> None:
        with Service("--served-model-name", NAME, "--dtype", "f32", model=MODEL, reranks=False) as service:
            model = RESTfulClient(service.url).get_model(NAME)
            self.assertIsInstance(model, RESTfulEmbeddingModelHandle)
            embedding = model.create_embedding(PLAIN[0]["text"])["data"][0]["embedding"]
            self.assertEqual(len(embedding), service.get("/v1/models/" + NAME)["dimensions"])
            for value, expected in zip(embedding, PLAIN[0]["embedding"]):
                self.assertAlmostEqual(value, expected, delta=2e-5)


if __name__ == "__main__":
    unittest.main()
