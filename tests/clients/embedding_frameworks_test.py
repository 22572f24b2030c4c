"""Embeddings by LangChain, LlamaIndex and Haystack."""
from __future__ import annotations

import os
import unittest

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

from haystack import Document
from haystack.components.embedders import OpenAIDocumentEmbedder, OpenAITextEmbedder
from haystack.utils import Secret
from haystack_integrations.components.embedders.cohere import CohereDocumentEmbedder, CohereTextEmbedder
from haystack_integrations.components.embedders.huggingface_api import HuggingFaceAPITextEmbedder
from haystack_integrations.components.embedders.jina import JinaTextEmbedder
from langchain_openai import OpenAIEmbeddings
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.embeddings.text_embeddings_inference import TextEmbeddingsInference

from tests.clients.embeddings_test import MODEL, PLAIN, QUERIES, EmbeddingTest, texts_of
from tests.clients.service import Service

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(Service("--served-model-name", "demo", "--dtype", "f32", model=MODEL, reranks=False))


class LangChain(EmbeddingTest):
    def setUp(self) -> None:
        # With check_embedding_ctx_length, the client would send ids of OpenAI's own vocabulary.
        self.client = OpenAIEmbeddings(model="demo", api_key="unused", base_url=service.url + "/v1", check_embedding_ctx_length=False)

    def test_documents(self) -> None:
        self.expect_vectors(self.client.embed_documents(texts_of(PLAIN)), PLAIN)

    def test_a_query(self) -> None:
        self.expect_vectors([self.client.embed_query(PLAIN[0]["text"])], PLAIN[:1])


class LlamaIndex(EmbeddingTest):
    def test_openai(self) -> None:
        client = OpenAIEmbedding(model_name="demo", api_key="unused", api_base=service.url + "/v1")
        self.expect_vectors(client.get_text_embedding_batch(texts_of(PLAIN)), PLAIN)
        self.expect_vectors([client.get_query_embedding(PLAIN[0]["text"])], PLAIN[:1])

    def test_text_embeddings_inference(self) -> None:
        client = TextEmbeddingsInference(model_name="demo", base_url=service.url)
        self.expect_vectors(client.get_text_embedding_batch(texts_of(PLAIN)), PLAIN)
        self.expect_vectors([client.get_query_embedding(PLAIN[0]["text"])], PLAIN[:1])


class Haystack(EmbeddingTest):
    key = Secret.from_token("unused")

    def expect_documents(self, embedder: OpenAIDocumentEmbedder | CohereDocumentEmbedder, cases: list[dict]) -> None:
        documents = embedder.run([Document(content=text) for text in texts_of(cases)])["documents"]
        self.expect_vectors([document.embedding for document in documents], cases)

    def test_openai(self) -> None:
        options = {"model": "demo", "api_key": self.key, "api_base_url": service.url + "/v1"}
        self.expect_vectors([OpenAITextEmbedder(**options).run(PLAIN[0]["text"])["embedding"]], PLAIN[:1])
        self.expect_documents(OpenAIDocumentEmbedder(**options), PLAIN)

    def test_jina(self) -> None:
        embedder = JinaTextEmbedder(model="demo", api_key=self.key, base_url=service.url + "/v1/embeddings", task="retrieval.query")
        self.expect_vectors([embedder.run(QUERIES[0]["text"])["embedding"]], QUERIES[:1])

    def test_cohere(self) -> None:
        options = {"model": "demo", "api_key": self.key, "api_base_url": service.url}
        self.expect_vectors([CohereTextEmbedder(**options).run(QUERIES[0]["text"])["embedding"]], QUERIES[:1])
        self.expect_documents(CohereDocumentEmbedder(**options, input_type="search_query", progress_bar=False), QUERIES)

    def test_text_embeddings_inference(self) -> None:
        embedder = HuggingFaceAPITextEmbedder("text_embeddings_inference", {"url": service.url}, token=None, normalize=True)
        self.expect_vectors([embedder.run(PLAIN[0]["text"])["embedding"]], PLAIN[:1])


if __name__ == "__main__":
    unittest.main()
