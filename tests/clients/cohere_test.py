"""The client of the `cohere` package, v1 and v2."""
from __future__ import annotations

import unittest

import cohere

from tests.clients.service import DOCUMENTS, QUERY, RIGHT, TOO_LONG, RankingTest, Service

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(Service("--served-model-name", "demo"))


class ClientV2(RankingTest):
    def setUp(self) -> None:
        self.client = cohere.ClientV2(api_key="unused", base_url=service.url)

    def test_ranks(self) -> None:
        response = self.client.rerank(model="demo", query=QUERY, documents=DOCUMENTS)
        self.expect_ranking([(result.index, result.relevance_score) for result in response.results])
        self.assertTrue(response.id)
        self.assertEqual(response.meta.api_version.version, "2")
        self.assertEqual(response.meta.billed_units.search_units, 1)

    def test_top_n(self) -> None:
        response = self.client.rerank(model="demo", query=QUERY, documents=DOCUMENTS, top_n=2, max_tokens_per_doc=100, priority=3)
        self.expect_ranking([(result.index, result.relevance_score) for result in response.results], 2)

    def test_more_than_there_are(self) -> None:
        response = self.client.rerank(model="demo", query=QUERY, documents=DOCUMENTS, top_n=100, priority=999)
        self.expect_ranking([(result.index, result.relevance_score) for result in response.results])

    def test_an_error_is_shown(self) -> None:
        with self.assertRaises(cohere.BadRequestError) as caught:
            self.client.rerank(model="demo", query=QUERY, documents=DOCUMENTS, top_n=-1)
        self.assertEqual(caught.exception.status_code, 400)
        self.assertIn("top_n", caught.exception.body["message"])


class Client(RankingTest):
    def setUp(self) -> None:
        self.client = cohere.Client(api_key="unused", base_url=service.url)

    def test_strings(self) -> None:
        response = self.client.rerank(query=QUERY, documents=DOCUMENTS)
        self.expect_ranking([(result.index, result.relevance_score) for result in response.results])
        self.assertIsNone(response.results[0].document)

    def test_objects_come_back(self) -> None:
        documents = [{"text": document, "title": "a title"} for document in DOCUMENTS]
        response = self.client.rerank(model="demo", query=QUERY, documents=documents, return_documents=True,
                                      rank_fields=["text"], max_chunks_per_doc=10)
        self.expect_ranking([(result.index, result.relevance_score) for result in response.results])
        for result in response.results:
            self.assertEqual(result.document.text, DOCUMENTS[result.index])

    def test_top_n(self) -> None:
        response = self.client.rerank(model="demo", query=QUERY, documents=DOCUMENTS, top_n=1, return_documents=True)
        self.expect_ranking([(result.index, result.relevance_score) for result in response.results], 1)
        self.assertEqual(response.results[0].document.text, DOCUMENTS[RIGHT])

    def test_both_clients_get_the_same_bits(self) -> None:
        one = self.client.rerank(model="demo", query=QUERY, documents=DOCUMENTS)
        two = cohere.ClientV2(api_key="unused", base_url=service.url).rerank(model="demo", query=QUERY, documents=DOCUMENTS)
        self.assertEqual([r.relevance_score for r in one.results], [r.relevance_score for r in two.results])

    def test_an_error_is_shown(self) -> None:
        with self.assertRaises(cohere.BadRequestError) as caught:
            self.client.rerank(query=TOO_LONG, documents=DOCUMENTS)
        self.assertIn("query", caught.exception.body["message"])


if __name__ == "__main__":
    unittest.main()
