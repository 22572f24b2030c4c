"""LlamaIndex' reranker for text-embeddings-inference."""
from __future__ import annotations

import unittest

from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.postprocessor.tei_rerank import TextEmbeddingInference

from tests.clients.service import DOCUMENTS, QUERY, RankingTest, Service

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(Service())


class LlamaIndex(RankingTest):
    def rank(self, documents: list[str], top_n: int) -> list[tuple[int, float]]:
        nodes = [NodeWithScore(node=TextNode(text=document), score=0.5) for document in documents]
        reranker = TextEmbeddingInference(base_url=service.url, top_n=top_n)
        ranked = reranker.postprocess_nodes(nodes, QueryBundle(QUERY))
        return [(documents.index(node.text), node.score) for node in ranked]

    def test_ranks(self) -> None:
        self.expect_ranking(self.rank(DOCUMENTS, 10))

    def test_top_n(self) -> None:
        self.expect_ranking(self.rank(DOCUMENTS, 2), 2)

    def test_every_document_has_a_score(self) -> None:
        # More than fit into one request's list of items.
        documents = DOCUMENTS + [f"The baker makes bread {number}." for number in range(200)]
        self.assertEqual(len(self.rank(documents, 1000)), len(documents))


if __name__ == "__main__":
    unittest.main()
