"""Haystack's rankers for text-embeddings-inference, Jina and Cohere."""
from __future__ import annotations

import os
import unittest
from typing import Any

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack import Document
from haystack.utils import Secret
from haystack_integrations.components.rankers.cohere import CohereRanker
from haystack_integrations.components.rankers.huggingface_api import HuggingFaceTEIRanker, TruncationDirection
from haystack_integrations.components.rankers.jina import JinaRanker

from tests.clients.service import DOCUMENTS, QUERY, RankingTest, Service

KEY = Secret.from_token("unused")

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(Service("--served-model-name", "demo"))


class Haystack(RankingTest):
    def rank(self, ranker: Any, **fields: Any) -> list[tuple[int, float]]:
        response = ranker.run(QUERY, [Document(content=document) for document in DOCUMENTS], **fields)
        return [(DOCUMENTS.index(document.content), document.score) for document in response["documents"]]

    def test_tei(self) -> None:
        ranker = HuggingFaceTEIRanker(url=service.url, token=None)
        self.expect_ranking(self.rank(ranker))
        self.expect_ranking(self.rank(ranker, top_k=2), 2)
        self.expect_ranking(self.rank(ranker, truncation_direction=TruncationDirection.LEFT))

    def test_tei_with_raw_scores(self) -> None:
        ranking = self.rank(HuggingFaceTEIRanker(url=service.url, token=None, raw_scores=True))
        raw = [score for _, score in ranking]
        self.assertEqual(raw, sorted(raw, reverse=True))
        self.assertGreater(raw[0], 1)  # Logits are not bounded.
        self.assertLess(raw[-1], 0)

    def test_tei_shows_an_error(self) -> None:
        ranker = HuggingFaceTEIRanker(url=service.url, token=None, max_retries=1)
        with self.assertRaisesRegex(RuntimeError, r"texts\[0\]"):
            ranker.run(QUERY, [Document(content=DOCUMENTS[0] * 4000)])  # Too long, and not to be cut.

    def test_jina(self) -> None:
        ranker = JinaRanker(model="demo", api_key=KEY, base_url=service.url + "/v1/rerank", top_k=2)
        self.expect_ranking(self.rank(ranker), 2)
        response = ranker.run(QUERY, [Document(content=document) for document in DOCUMENTS])
        self.assertEqual(response["meta"]["model"], "demo")
        self.assertGreater(response["meta"]["usage"]["total_tokens"], 0)

    def test_jina_takes_a_document_without_text(self) -> None:
        ranker = JinaRanker(model="demo", api_key=KEY, base_url=service.url + "/v1/rerank")
        response = ranker.run(QUERY, [Document(content=DOCUMENTS[0]), Document(content=None, meta={"number": 1})])
        self.assertEqual(len(response["documents"]), 2)

    def test_cohere(self) -> None:
        self.expect_ranking(self.rank(CohereRanker(model="demo", api_key=KEY, api_base_url=service.url)))


if __name__ == "__main__":
    unittest.main()
