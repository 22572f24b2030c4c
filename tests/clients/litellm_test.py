"""LiteLLM's rerank, with each provider whose request scorecast takes."""
from __future__ import annotations

import os
import unittest
from typing import Any

# Otherwise LiteLLM downloads a list of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm

from tests.clients.service import DOCUMENTS, QUERY, RankingTest, Service

PROVIDERS = ["cohere", "hosted_vllm", "huggingface", "jina_ai", "litellm_proxy"]

service: Service


def setUpModule() -> None:
    global service
    litellm.suppress_debug_info = True
    service = unittest.enterModuleContext(Service("--served-model-name", "demo"))


def rerank(provider: str, **fields: Any) -> Any:
    return litellm.rerank(**{"model": f"{provider}/demo", "query": QUERY, "documents": DOCUMENTS, "api_base": service.url,
                             "api_key": "unused", **fields})


class LiteLlm(RankingTest):
    def test_strings(self) -> None:
        for provider in PROVIDERS:
            with self.subTest(provider):
                response = rerank(provider)
                self.expect_ranking([(r["index"], r["relevance_score"]) for r in response.results])
                for result in response.results:  # LiteLLM asks for the documents if the caller does not say.
                    self.assertEqual(result["document"]["text"], DOCUMENTS[result["index"]])

    def test_objects(self) -> None:
        for provider in PROVIDERS:
            with self.subTest(provider):
                response = rerank(provider, documents=[{"text": document} for document in DOCUMENTS], return_documents=False)
                self.expect_ranking([(r["index"], r["relevance_score"]) for r in response.results])

    def test_top_n(self) -> None:
        for provider in PROVIDERS:
            with self.subTest(provider):
                response = rerank(provider, top_n=2)
                self.expect_ranking([(r["index"], r["relevance_score"]) for r in response.results], 2)

    def test_fields_of_vllm(self) -> None:
        response = rerank("hosted_vllm", max_tokens_per_doc=50, truncate_prompt_tokens=500)
        self.expect_ranking([(r["index"], r["relevance_score"]) for r in response.results])
        self.assertGreater(response.meta["billed_units"]["total_tokens"], 0)

    def test_an_error_is_shown(self) -> None:
        for provider in PROVIDERS:
            with self.subTest(provider), self.assertRaises(litellm.BadRequestError) as caught:
                rerank(provider, top_n=-1)
            self.assertIn("top_n must be at least 0", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
