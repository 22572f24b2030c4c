"""Clients of other reranking services: each works by its base URL alone."""
from __future__ import annotations

import math
import os
import unittest
from typing import Any

# Otherwise LiteLLM downloads a list of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import isaacus
import litellm
import mixedbread
import pinecone
import voyageai
from langchain_core.documents import Document
from langchain_nvidia_ai_endpoints import NVIDIARerank
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.postprocessor.mixedbreadai_rerank import MixedbreadAIRerank
from llama_index.postprocessor.nvidia_rerank import NVIDIARerank as LlamaIndexNvidia
from llama_index.postprocessor.voyageai_rerank import VoyageAIRerank
from rerankers.models.api_rankers import APIRanker

from tests.clients.service import DOCUMENTS, QUERY, RIGHT, TOO_LONG, RankingTest, Service

KEY = {"api_key": "unused"}
MODEL = {"model": "demo"}

service: Service


def setUpModule() -> None:
    global service
    litellm.suppress_debug_info = True
    service = unittest.enterModuleContext(Service("--served-model-name", "demo"))


class DialectTest(RankingTest):
    def expect_logits(self, ranking: list[tuple[int, float]], size: int = len(DOCUMENTS)) -> None:
        """The demo model's template has a sigmoid."""
        self.expect_ranking([(index, 1 / (1 + math.exp(-logit))) for index, logit in ranking], size)
        self.assertGreater(ranking[0][1], 1)

    def expect_nodes(self, reranker: Any, size: int = len(DOCUMENTS), are_logits: bool = False) -> None:
        nodes = [NodeWithScore(node=TextNode(text=document), score=0.5) for document in DOCUMENTS]
        ranked = reranker.postprocess_nodes(nodes, QueryBundle(QUERY))
        expect = self.expect_logits if are_logits else self.expect_ranking
        expect([(DOCUMENTS.index(node.text), node.score) for node in ranked], size)

    def expect_ranker(self, provider: str, path: str) -> None:
        """The `rerankers` package, which takes a whole URL."""
        ranked = APIRanker("demo", api_provider=provider, url=service.url + path, **KEY).rank(QUERY, DOCUMENTS)
        self.expect_ranking([(DOCUMENTS.index(result.text), result.score) for result in ranked.results])

    def expect_litellm(self, provider: str, path: str = "", **fields: Any) -> Any:
        response = litellm.rerank(model=f"{provider}/demo", query=QUERY, documents=DOCUMENTS, api_base=service.url + path,
                                  **KEY, **fields)
        self.expect_ranking([(r["index"], r["relevance_score"]) for r in response.results], fields.get("top_n", 4))
        return response


class Voyage(DialectTest):
    def setUp(self) -> None:
        self.client = voyageai.Client(base_url=service.url + "/v1", max_retries=0, **KEY)

    def test_client(self) -> None:
        for fields in ({}, {"top_k": 2}, {"truncation": False}):
            with self.subTest(**fields):
                response = self.client.rerank(QUERY, DOCUMENTS, **MODEL, **fields)
                self.expect_ranking([(r.index, r.relevance_score) for r in response.results], fields.get("top_k", 4))
                self.assertGreater(response.total_tokens, 0)

    def test_errors(self) -> None:
        with self.assertRaisesRegex(voyageai.error.InvalidRequestError, "top_k must be at least 0"):
            self.client.rerank(QUERY, DOCUMENTS, **MODEL, top_k=-1)
        with self.assertRaisesRegex(voyageai.error.InvalidRequestError, "documents.0."):
            self.client.rerank(QUERY, [TOO_LONG], **MODEL, truncation=False)

    def test_frameworks(self) -> None:
        reranker = VoyageAIRerank("demo", **KEY, top_n=2)
        reranker._client = self.client  # It has no parameter for the URL.
        self.expect_nodes(reranker, 2)
        self.expect_ranker("voyage", "/v1/rerank")
        for path in ("/voyage", "/voyage/v1"):
            response = self.expect_litellm("voyage", path)
            self.assertEqual(response.results[0]["document"]["text"], DOCUMENTS[RIGHT])
            self.assertGreater(response.meta["billed_units"]["total_tokens"], 0)
        self.expect_litellm("voyage", "/voyage", top_n=2)


class Nvidia(DialectTest):
    def test_langchain(self) -> None:
        documents = [Document(document) for document in DOCUMENTS]
        reranker = NVIDIARerank(base_url=service.url + "/v1", top_n=3, truncate="END", **MODEL, **KEY)
        ranked = reranker.compress_documents(documents, QUERY)
        self.expect_logits([(DOCUMENTS.index(d.page_content), d.metadata["relevance_score"]) for d in ranked], 3)
        reranker = NVIDIARerank(base_url=service.url + "/v1", truncate="NONE", **MODEL, **KEY)
        with self.assertRaisesRegex(Exception, "passages.0."):
            reranker.compress_documents([Document(TOO_LONG)], QUERY)

    def test_llama_index(self) -> None:
        self.expect_nodes(LlamaIndexNvidia(base_url=service.url + "/v1", top_n=2, **MODEL, **KEY), 2, are_logits=True)

    def test_litellm(self) -> None:
        for model in ("nvidia_nim/demo", "nvidia_nim/nvidia/a-model", "nvidia_nim/ranking/demo"):
            for path in ("", "/v1"):
                with self.subTest(model=model, path=path):
                    response = litellm.rerank(model=model, query=QUERY, documents=DOCUMENTS, top_n=2, api_base=service.url + path,
                                              **KEY)
                    self.expect_logits([(r["index"], r["relevance_score"]) for r in response.results], 2)

    def test_ragflow(self) -> None:
        """It appends these to the base URL `…/v1/retrieval/nvidia/`."""
        body = {"query": {"text": QUERY}, "passages": [{"text": d} for d in DOCUMENTS], "truncate": "END", "top_n": 4, **MODEL}
        for path in ("nv-rerankqa-mistral-4b-v3/reranking", "reranking"):
            response = service.post("/v1/retrieval/nvidia/" + path, body)
            self.expect_logits([(r["index"], r["logit"]) for r in response["rankings"]])


class Mixedbread(DialectTest):
    def setUp(self) -> None:
        self.client = mixedbread.Mixedbread(base_url=service.url, max_retries=0, **KEY)

    def test_client(self) -> None:
        response = self.client.rerank(query=QUERY, input=DOCUMENTS, top_k=2, return_input=True, **MODEL)
        self.expect_ranking([(r.index, r.score) for r in response.data], 2)
        self.assertEqual(response.data[0].input, DOCUMENTS[RIGHT])
        self.assertGreater(response.usage.total_tokens, 0)

    def test_fields(self) -> None:
        records = [{"title": document, "number": i} for i, document in enumerate(DOCUMENTS)]
        response = self.client.rerank(query=QUERY, input=records, rank_fields=["title"], return_input=True, **MODEL)
        self.expect_ranking([(r.index, r.score) for r in response.data])
        self.assertEqual(response.data[0].input, records[RIGHT])
        with self.assertRaises(mixedbread.BadRequestError) as caught:
            self.client.rerank(query=QUERY, input=records, **MODEL)
        self.assertIn("input[0].text must be provided", str(caught.exception))

    def test_frameworks(self) -> None:
        reranker = MixedbreadAIRerank(top_n=2, **KEY)
        reranker._client = self.client  # It has no parameter for the URL.
        self.expect_nodes(reranker, 2)
        self.expect_ranker("mixedbread.ai", "/v1/reranking")


class Pinecone(DialectTest):
    def setUp(self) -> None:
        self.inference = pinecone.Pinecone(host=service.url, **KEY).inference

    def test_client(self) -> None:
        response = self.inference.rerank(query=QUERY, documents=DOCUMENTS, top_n=2, parameters={"truncate": "END"}, **MODEL)
        self.expect_ranking([(r.index, r.score) for r in response.data], 2)
        self.assertEqual(response.data[0].document, {"text": DOCUMENTS[RIGHT]})
        self.assertEqual(response.usage.rerank_units, 1)
        self.assertEqual(response.model, "demo")

    def test_fields(self) -> None:
        records = [{"id": str(i), "title": document} for i, document in enumerate(DOCUMENTS)]
        response = self.inference.rerank(query=QUERY, documents=records, rank_fields=["title"], **MODEL)
        self.expect_ranking([(r.index, r.score) for r in response.data])
        self.assertEqual(response.data[0].document, records[RIGHT])
        response = self.inference.rerank(query=QUERY, documents=records, rank_fields=["title"], return_documents=False, **MODEL)
        self.assertIsNone(response.data[0].document)
        with self.assertRaisesRegex(pinecone.PineconeException, "documents.0..text must be provided"):
            self.inference.rerank(query=QUERY, documents=records, **MODEL)

    def test_rerankers(self) -> None:
        for path in ("/rerank", "/pinecone/rerank"):
            self.expect_ranker("pinecone", path)


class Others(DialectTest):
    def test_isaacus(self) -> None:
        client = isaacus.Isaacus(base_url=service.url + "/v1", max_retries=0, **KEY)
        response = client.rerankings.create(query=QUERY, texts=DOCUMENTS, top_n=3, **MODEL)
        self.expect_ranking([(r.index, r.score) for r in response.results], 3)
        self.assertGreater(response.usage.input_tokens, 0)
        with self.assertRaisesRegex(isaacus.BadRequestError, "is_iql is not supported"):
            client.rerankings.create(query=QUERY, texts=DOCUMENTS, is_iql=True, **MODEL)
        self.expect_ranker("isaacus", "/v1/rerankings")

    def test_litellm_fireworks(self) -> None:
        response = self.expect_litellm("fireworks_ai", top_n=2)
        self.assertEqual(response.results[0]["document"]["text"], DOCUMENTS[RIGHT])

    def test_litellm_infinity(self) -> None:
        response = self.expect_litellm("infinity", "/infinity", top_n=2)
        self.assertEqual(response.results[0]["document"]["text"], DOCUMENTS[RIGHT])

    def test_litellm_deepinfra(self) -> None:
        for path in ("", "/v1", "/v1/openai"):
            with self.subTest(path=path):
                response = litellm.rerank(model="deepinfra/a/model", query=QUERY, documents=DOCUMENTS, api_base=service.url + path,
                                          **KEY)
                ranking = sorted(((r["index"], r["relevance_score"]) for r in response.results), key=lambda r: -r[1])
                self.expect_ranking(ranking)
                self.assertGreater(response.meta["billed_units"]["total_tokens"], 0)

    def test_flowise(self) -> None:
        response = service.post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS, "topN": 2, "max_chunks_per_doc": 10})
        self.expect_ranking([(r["index"], r["relevance_score"]) for r in response["results"]], 2)

    def test_weaviate(self) -> None:
        response = service.post("/weaviate/rerank", {"query": QUERY, "documents": DOCUMENTS, "property": ""})
        ranking = sorted(enumerate(one["score"] for one in response["scores"]), key=lambda r: -r[1])
        self.expect_ranking(ranking)
        service.get("/weaviate/meta")
        service.get("/weaviate/.well-known/ready")

    def test_a_threshold(self) -> None:
        response = service.post("/v1/rerank", {"query": QUERY, "documents": DOCUMENTS, "score_threshold": 0.5, "top_n": 3})
        self.assertEqual([result["index"] for result in response["results"]], [RIGHT])


if __name__ == "__main__":
    unittest.main()
