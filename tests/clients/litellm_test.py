"""LiteLLM's rerank, with each provider whose request scorecast takes, and completions of OpenAI's client."""
from __future__ import annotations

import os
import unittest
from pathlib import Path
from typing import Any

# Otherwise LiteLLM downloads a list of prices.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
import openai

from tests.clients.service import DOCUMENTS, QUERY, RankingTest, Service

# The demo model has learnt sentences, not conversations: it continues the last message.
CHAT_TEMPLATE = str(Path(__file__).parent / "chat_template.jinja")
PROVIDERS = ["cohere", "hosted_vllm", "huggingface", "jina_ai", "litellm_proxy"]

service: Service


def setUpModule() -> None:
    global service
    litellm.suppress_debug_info = True
    service = unittest.enterModuleContext(Service("--served-model-name", "demo", "--chat-template", CHAT_TEMPLATE))


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


class OpenAi(unittest.TestCase):
    def setUp(self) -> None:
        self.client = openai.OpenAI(api_key="unused", base_url=service.url + "/v1", max_retries=0)
        self.request = {"model": "demo", "prompt": "The sky is", "max_tokens": 6, "temperature": 0}

    def test_completions(self) -> None:
        response = self.client.completions.create(**self.request, n=2)
        chunked = service.post("/v1/chunked", {"prompt": "The sky is", "max_new_tokens": 6})
        self.assertEqual([choice.text for choice in response.choices], 2 * [chunked["outputs"][0]["text"]])
        self.assertEqual([choice.index for choice in response.choices], [0, 1])
        self.assertEqual(response.object, "text_completion")
        self.assertEqual(response.model, "demo")
        self.assertEqual(response.usage.prompt_tokens, chunked["usage"]["prompt_tokens"])
        self.assertEqual(response.usage.completion_tokens, 2 * chunked["usage"]["completion_tokens"])
        self.assertGreaterEqual(response.usage.prompt_tokens_details.cached_tokens, 0)

    def test_a_stream(self) -> None:
        whole = self.client.completions.create(**self.request)
        chunks = list(self.client.completions.create(**self.request, stream=True, stream_options={"include_usage": True}))
        self.assertEqual("".join(chunk.choices[0].text for chunk in chunks[:-1]), whole.choices[0].text)
        self.assertEqual(chunks[-2].choices[0].finish_reason, whole.choices[0].finish_reason)
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.completion_tokens, whole.usage.completion_tokens)
        self.assertEqual(len({chunk.id for chunk in chunks}), 1)
        without = list(self.client.completions.create(**self.request, stream=True))
        self.assertTrue(all(chunk.choices and chunk.usage is None for chunk in without))

    def test_a_seed(self) -> None:
        request = {**self.request, "temperature": 1.5, "seed": 7, "n": 2}
        first, second = (self.client.completions.create(**request) for _ in range(2))
        self.assertEqual([choice.text for choice in first.choices], [choice.text for choice in second.choices])

    def test_fields_of_sampling(self) -> None:
        request = {**self.request, "temperature": 1, "seed": 3, "presence_penalty": 0.5, "frequency_penalty": 0.5}
        of_vllm = {"repetition_penalty": 1.1, "min_p": 0.05, "min_tokens": 4, "bad_words": ["blue"], "return_token_ids": True}
        choice = self.client.completions.create(**request, logit_bias={"5": -100}, extra_body=of_vllm).choices[0]
        self.assertNotIn("blue", choice.text)
        self.assertNotIn(5, choice.token_ids)
        self.assertGreaterEqual(len(choice.token_ids), 4)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.completions.create(**request, logit_bias={"5": -101})
        self.assertEqual(caught.exception.param, "logit_bias.5")

    def test_an_error_is_shown(self) -> None:
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.completions.create(**self.request, suffix="s")
        self.assertEqual(caught.exception.code, "not_supported")
        self.assertEqual(caught.exception.param, "suffix")
        self.assertEqual(caught.exception.type, "invalid_request_error")

    def test_a_chat(self) -> None:
        messages: Any = [{"role": "system", "content": "Be brief."},
                         {"role": "user", "content": [{"type": "text", "text": "The sky is"}]}]
        request: Any = {"model": "demo", "messages": messages, "max_completion_tokens": 6, "temperature": 0}
        response = self.client.chat.completions.create(**request)
        # The template spells no BOS, so the prompt has none.
        ids = service.post("/tokenize", {"prompt": "The sky is", "add_special_tokens": False})["tokens"]
        completion = self.client.completions.create(**{**self.request, "prompt": ids})
        self.assertEqual(response.choices[0].message.content, completion.choices[0].text)
        self.assertEqual(response.choices[0].message.role, "assistant")
        self.assertEqual(response.object, "chat.completion")
        self.assertEqual(response.usage.prompt_tokens, completion.usage.prompt_tokens)
        chunks = list(self.client.chat.completions.create(**request, stream=True, stream_options={"include_usage": True}))
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual("".join(chunk.choices[0].delta.content for chunk in chunks[:-1]), completion.choices[0].text)
        self.assertEqual(chunks[-2].choices[0].finish_reason, completion.choices[0].finish_reason)
        self.assertEqual(chunks[-1].usage.completion_tokens, completion.usage.completion_tokens)
        through_litellm = litellm.completion(model="openai/demo", api_base=service.url + "/v1", api_key="unused", messages=messages,
                                             max_tokens=6, temperature=0)
        self.assertEqual(through_litellm.choices[0].message.content, completion.choices[0].text)

    def test_an_error_of_a_chat_is_shown(self) -> None:
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.chat.completions.create(model="demo", messages=[{"role": "tool", "content": "x", "tool_call_id": "y"}])
        self.assertEqual(caught.exception.param, "messages[0].tool_call_id")
