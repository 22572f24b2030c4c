"""Clients of hosted services that ask for embeddings: those of Voyage, mixedbread, Pinecone and NVIDIA, and LiteLLM's."""
from __future__ import annotations

import unittest

import litellm
import mixedbread
import pinecone
import voyageai
from langchain_nvidia_ai_endpoints import NVIDIAEmbeddings

from tests.clients.embeddings_test import MODEL, PLAIN, QUERIES, EmbeddingTest, texts_of
from tests.clients.service import TOO_LONG, Service

service: Service


def setUpModule() -> None:
    global service
    service = unittest.enterModuleContext(Service("--served-model-name", "demo", "--dtype", "f32", model=MODEL, reranks=False))


class Voyage(EmbeddingTest):
    def test_texts(self) -> None:
        for base in ("/v1", "/voyage/v1"):
            client = voyageai.Client(api_key="unused", base_url=service.url + base)
            response = client.embed(texts_of(PLAIN), model="demo")
            self.expect_vectors(response.embeddings, PLAIN)
            self.assertEqual(response.total_tokens, sum(len(case["ids"]) for case in PLAIN))
            response = client.embed(texts_of(QUERIES), model="demo", input_type="query")
            self.expect_vectors(response.embeddings, QUERIES)
            self.assertEqual(len(client.embed([TOO_LONG], model="demo").embeddings), 1)

    def test_types_of_values(self) -> None:
        client = voyageai.Client(api_key="unused", base_url=service.url + "/voyage/v1")
        texts = texts_of(PLAIN[:1])
        bits = client.embed(texts, model="demo", output_dtype="ubinary").embeddings[0]
        expected = PLAIN[0]["embedding"]
        self.assertEqual(bits[0], sum((expected[i] > 0) << (7 - i) for i in range(8)))
        self.assertEqual(client.embed(texts, model="demo", output_dtype="binary").embeddings[0], [one - 128 for one in bits])
        self.assertEqual(len(client.embed(texts, model="demo", output_dimension=8).embeddings[0]), 8)
        with self.assertRaisesRegex(voyageai.error.InvalidRequestError, "output_dtype must be"):
            client.embed(texts, model="demo", output_dtype="int8")
        with self.assertRaisesRegex(voyageai.error.InvalidRequestError, "maximum context length"):
            client.embed([TOO_LONG], model="demo", truncation=False)


class Mixedbread(EmbeddingTest):
    def test_texts_and_a_prompt(self) -> None:
        client = mixedbread.Mixedbread(api_key="unused", base_url=service.url, max_retries=0)
        response = client.embed(model="demo", input=texts_of(PLAIN), normalized=True, encoding_format="float")
        self.expect_vectors([one.embedding for one in response.data], PLAIN)
        joint = client.embed(model="demo", input="See: " + PLAIN[0]["text"]).data[0].embedding
        prompted = client.embed(model="demo", input=PLAIN[0]["text"], prompt="See: ", dimensions=len(joint)).data[0].embedding
        self.assertEqual(prompted, joint)
        with self.assertRaisesRegex(mixedbread.BadRequestError, "encoding_format must be"):
            client.embed(model="demo", input="a", encoding_format="float16")


class Pinecone(EmbeddingTest):
    def test_texts(self) -> None:
        for base in ("", "/pinecone"):
            client = pinecone.Pinecone(api_key="unused", host=service.url + base)
            response = client.inference.embed(model="demo", inputs=texts_of(PLAIN), parameters={"input_type": "passage"})
            self.assertEqual(response.vector_type, "dense")
            self.expect_vectors([one.values for one in response.data], PLAIN)
            self.assertEqual(response.usage.total_tokens, sum(len(case["ids"]) for case in PLAIN))
            response = client.inference.embed(model="demo", inputs=texts_of(QUERIES), parameters={"input_type": "query", "truncate": "END"})
            self.expect_vectors([one.values for one in response.data], QUERIES)


class Nvidia(EmbeddingTest):
    def test_texts(self) -> None:
        client = NVIDIAEmbeddings(model="demo", api_key="unused", base_url=service.url + "/v1", truncate="END")
        self.expect_vectors(client.embed_documents(texts_of(PLAIN)), PLAIN)
        self.expect_vectors([client.embed_query(one) for one in texts_of(QUERIES)], QUERIES)
        self.assertEqual(len(client.embed_documents([TOO_LONG])), 1)


class LiteLlm(EmbeddingTest):
    def test_texts(self) -> None:
        for model, path in (("voyage/demo", "/v1"), ("voyage/demo", "/voyage/v1"), ("nvidia_nim/demo", "/v1")):
            given = {"input_type": "query"} if model.startswith("nvidia") else {}
            response = litellm.embedding(model=model, input=texts_of(QUERIES if given else PLAIN), api_base=service.url + path,
                                         api_key="unused", **given)
            self.expect_vectors([one["embedding"] for one in response.data], QUERIES if given else PLAIN)


if __name__ == "__main__":
    unittest.main()
