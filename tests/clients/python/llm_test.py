"""scorecast.LLM: the calls of vLLM and SGLang, on a service of two ranks that it starts."""
from __future__ import annotations

import asyncio
import unittest
from pathlib import Path

from scorecast import LLM, SamplingParams, ServiceStartError

from tests.clients.service import DEMO_MODEL

CHAT_TEMPLATE = Path(__file__).parents[1] / "chat_template.jinja"
FAMILIES = Path(__file__).parents[2] / "golden" / "families"
DOCUMENTS = "Read the documents. # # Anna lives in Oslo. # # The red key is in the kitchen. # # "
GREEDY = SamplingParams(temperature=0, max_tokens=8)

llm: LLM


def setUpModule() -> None:
    global llm
    llm = unittest.enterModuleContext(LLM(
        model=DEMO_MODEL, ranks=2, enable_chunk_aware=True, chunk_separator=" # # ", chunk_position_strategy="shared", max_chunk_len=512,
        chat_template=CHAT_TEMPLATE, dtype="f32"))


class Generate(unittest.TestCase):
    def test_the_example_of_the_designs(self) -> None:
        # Copied but for the import, and but for the construction of `llm`, whose model the tests do not have.
        prompt = (
            "You are a helpful assistant. # # "
            "Document 1: This is the first document... # # "
            "Document 2: This is the second document... # # "
            "Document 3: This is the third document... # # "
            "Question: What are the key points from these documents?"
        )
        outputs = llm.generate(prompt, SamplingParams(temperature=0.8))
        self.assertEqual((len(outputs), len(outputs[0].outputs)), (1, 1))
        self.assertEqual(outputs[0].prompt, prompt)
        self.assertTrue(outputs[0].finished)
        # The documents were split: another order finds all of them in the cache.
        parts = prompt.split(" # # ")
        again = llm.generate(" # # ".join([parts[0], *parts[3:0:-1], parts[4]]), SamplingParams(temperature=0.8))
        documents = sum(len(llm.client.tokenize(part, add_special_tokens=False)) for part in parts[1:4])
        self.assertGreaterEqual(again[0].num_cached_tokens, documents - 3)

    def test_documents(self) -> None:
        outputs = llm.generate([DOCUMENTS + "Where is the red key?", DOCUMENTS + "Where does Anna live?"], GREEDY)
        self.assertEqual([output.outputs[0].text for output in outputs], [" kitchen.", " Oslo."])
        self.assertEqual([output.outputs[0].finish_reason for output in outputs], ["stop", "stop"])

    def test_prompts_of_all_kinds(self) -> None:
        text = "The capital of France is"
        ids = llm.client.tokenize(text)
        for prompts in (text, [text], ids, [ids], {"prompt": text}, [{"prompt_token_ids": ids}]):
            with self.subTest(prompts=prompts):
                (output,) = llm.generate(prompts, SamplingParams(temperature=0, max_tokens=1))
                self.assertEqual((output.outputs[0].text, output.prompt_token_ids), (" Paris", ids))
        self.assertEqual(llm.generate([]), [])

    def test_many_prompts_have_their_order_and_parameters(self) -> None:
        prompts = ["The capital of France is", "The capital of Italy is"] * 20
        params = [SamplingParams(temperature=0, max_tokens=1 + i % 3) for i in range(len(prompts))]
        outputs = llm.generate(prompts, params, use_tqdm=False)
        self.assertEqual([output.prompt for output in outputs], prompts)
        self.assertEqual([output.outputs[0].text.split()[0] for output in outputs], ["Paris", "Rome"] * 20)
        self.assertEqual([len(output.outputs[0].token_ids) for output in outputs], [one.max_tokens for one in params])
        with self.assertRaises(ValueError):
            llm.generate(prompts, params[:3])

    def test_seeds_and_n(self) -> None:
        params = SamplingParams(n=2, temperature=1, seed=3, max_tokens=6)
        first, second = llm.generate(["The opposite of hot is"] * 2, params)
        self.assertEqual([one.text for one in first.outputs], [one.text for one in second.outputs])
        self.assertEqual([one.index for one in first.outputs], [0, 1])

    def test_log_probabilities(self) -> None:
        (output,) = llm.generate("The capital of France is", SamplingParams(temperature=0, max_tokens=2, logprobs=2, prompt_logprobs=1))
        (completion,) = output.outputs
        assert completion.logprobs is not None
        assert completion.cumulative_logprob is not None
        assert output.prompt_logprobs is not None
        self.assertEqual([max(place, key=lambda token: place[token].logprob) for place in completion.logprobs], completion.token_ids)
        self.assertAlmostEqual(completion.cumulative_logprob, sum(place[token].logprob for token, place in zip(completion.token_ids, completion.logprobs)))
        self.assertIsNone(output.prompt_logprobs[0])
        for token, place in zip(output.prompt_token_ids[1:], output.prompt_logprobs[1:], strict=True):
            assert place is not None
            self.assertIn(token, place)
        texts = [place[token].decoded_token for token, place in zip(completion.token_ids, completion.logprobs)]
        self.assertEqual("".join(map(str, texts)), completion.text)
        texts = [place[token].decoded_token for token, place in zip(output.prompt_token_ids[1:], output.prompt_logprobs[1:]) if place]
        # Each is spelled as in the middle of a text, so the first one has its space, too.
        self.assertEqual("".join(map(str, texts)), " The capital of France is")

    def test_a_model_without_a_tokenizer(self) -> None:
        with LLM(FAMILIES / "qwen3") as other:
            (output,) = other.generate([5, 6, 7], SamplingParams(temperature=0, max_tokens=1, logprobs=1))
        (place,) = output.outputs[0].logprobs or []
        self.assertIsNone(place[output.outputs[0].token_ids[0]].decoded_token)

    def test_without_a_limit_a_completion_ends_at_the_last_position(self) -> None:
        (output,) = llm.generate("The capital of France is", SamplingParams(temperature=0, max_tokens=None, ignore_eos=True))
        self.assertEqual(len(output.prompt_token_ids) + len(output.outputs[0].token_ids), 2048)

    def test_chat(self) -> None:
        messages = [{"role": "user", "content": "The capital of France is"}]
        (output,) = llm.chat(messages, SamplingParams(temperature=0, max_tokens=1))
        self.assertEqual((output.outputs[0].text.strip(), output.prompt), ("Paris", "The capital of France is"))
        self.assertEqual(len(llm.chat([messages] * 3, SamplingParams(max_tokens=1))), 3)


class Score(unittest.TestCase):
    QUERY, ITEMS = "The capital of France is", [" Paris", " Oslo"]

    def setUp(self) -> None:
        self.labels = [llm.client.tokenize(label, add_special_tokens=False)[0] for label in (" yes", " no")]

    def test_score(self) -> None:
        result = llm.score(self.QUERY, self.ITEMS, self.labels, True)
        self.assertGreater(result.scores[0][0], 0.99)
        self.assertLess(result.scores[1][0], 0.01)
        self.assertEqual(result.scores, llm.client.score(self.QUERY, self.ITEMS, [" yes", " no"], apply_softmax=True).scores)
        self.assertEqual(llm.score(self.QUERY, " Paris", self.labels, apply_softmax=True).scores, result.scores[:1])

    def test_item_first(self) -> None:
        found = llm.score(" is a city", ["Tokyo", "Japan"], self.labels, item_first=True)
        self.assertEqual(found.scores, llm.client.score(" is a city", ["Tokyo", "Japan"], [" yes", " no"], item_first=True).scores)

    def test_within_a_running_event_loop(self) -> None:
        expected = llm.score(self.QUERY, self.ITEMS, self.labels, apply_softmax=True).scores

        async def run() -> None:
            found = await asyncio.gather(*[llm.async_score(query=self.QUERY, items=self.ITEMS, label_token_ids=self.labels, apply_softmax=True)
                                           for _ in range(4)])
            self.assertEqual([one.scores for one in found], [expected] * 4)
            self.assertEqual(llm.score(self.QUERY, self.ITEMS, self.labels, apply_softmax=True).scores, expected)
            self.assertEqual(llm.generate(DOCUMENTS + "Where is the red key?", GREEDY)[0].outputs[0].text, " kitchen.")

        for _ in range(2):  # Each has a loop of its own.
            asyncio.run(run())


class Starting(unittest.TestCase):
    def test_connects_to_a_service_that_runs(self) -> None:
        with LLM(base_url=llm.url) as other:
            self.assertEqual(other.generate(DOCUMENTS + "Where is the red key?", GREEDY)[0].outputs[0].text, " kitchen.")
            self.assertEqual(other.log(), "")
        self.assertEqual(llm.generate("The capital of France is", SamplingParams(temperature=0, max_tokens=1))[0].outputs[0].text, " Paris")

    def test_the_log_is_kept(self) -> None:
        self.assertIn("ready: requests on", llm.log())

    def test_says_why_a_service_does_not_start(self) -> None:
        for arguments, message in (({"model": "/nowhere"}, "/nowhere"), ({"model": DEMO_MODEL, "max_itemz": 3}, "max-itemz"),
                                   ({"model": DEMO_MODEL, "ranks": 9}, "scorecast: .*9")):
            with self.subTest(arguments), self.assertRaisesRegex(ServiceStartError, f"the service has ended: (.|\n)*{message}"):
                LLM(**arguments)

    def test_gives_up_after_its_time(self) -> None:
        with self.assertRaisesRegex(ServiceStartError, "not ready after 0 s"):
            LLM(DEMO_MODEL, start_timeout=0)


if __name__ == "__main__":
    unittest.main()
