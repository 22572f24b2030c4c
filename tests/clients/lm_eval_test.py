"""Our model class of lm-evaluation-harness against the log-probabilities and texts of /v1/completions.

The harness itself takes a minute to install and seconds to import, so the little that the class uses of it has stand-ins here.
`bench/run evaluation` runs the harness.
"""
from __future__ import annotations

import sys
import types
import unittest
from typing import Any

from tests.clients.service import Service

TEXT = "The red key is in the kitchen. The blue cup is in the tower."
QUESTIONS = ("Where is the red key?", "Where is the blue cup? ")  # The second one ends in white space.
CHOICES = (" kitchen.", " tower.", " garden.")

service: Service
model: Any


class Instance:
    """A request of the harness."""

    def __init__(self, *args: Any) -> None:
        self.args = args


def install_stand_ins() -> None:
    class Hook:
        def add_partial(self, *_: Any) -> None: ...

    class LM:
        def __init__(self) -> None:
            self.cache_hook = Hook()

    def windows(token_list: list[int], prefix_token: int, max_seq_len: int, context_len: int) -> list[tuple[list[int], list[int]]]:
        assert context_len == 1
        tokens = [prefix_token, *token_list]
        return [(tokens[i:i + max_seq_len], tokens[i + 1:i + 1 + max_seq_len]) for i in range(0, len(token_list), max_seq_len)]

    contents = {"lm_eval": {}, "lm_eval.api": {}, "lm_eval.api.model": {"LM": LM},
                "lm_eval.api.registry": {"register_model": lambda *_: lambda found: found},
                "lm_eval.utils": {"get_rolling_token_windows": windows, "make_disjoint_window": lambda pair: (pair[0][:1], pair[1])}}
    for name, members in contents.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)


def setUpModule() -> None:
    global service, model
    service = unittest.enterModuleContext(Service("--dtype", "f32"))  # The two ways round bfloat16 differently.
    install_stand_ins()
    from clients.lm_eval.scorecast_lm import ScorecastLM

    model = ScorecastLM(service.url, max_items=2)


def ids(text: str, add_special_tokens: bool = True) -> list[int]:
    return service.post("/tokenize", {"prompt": text, "add_special_tokens": add_special_tokens})["tokens"]


def behind(context: list[int], tokens: list[int]) -> tuple[float, bool]:
    """What local-completions computes of the reply with `echo`."""
    reply = service.post("/v1/completions", {"prompt": context + tokens, "max_tokens": 1, "temperature": 0, "logprobs": 1, "echo": True})
    logprobs = reply["choices"][0]["logprobs"]
    of_tokens = logprobs["token_logprobs"][len(context):-1]
    return sum(of_tokens), all(one == max(top.values()) for one, top in zip(of_tokens, logprobs["top_logprobs"][len(context):-1]))


class ScorecastModel(unittest.TestCase):
    def expect_near(self, found: list[tuple[float, bool]], expected: list[tuple[float, bool]]) -> None:
        self.assertEqual([is_greedy for _, is_greedy in found], [is_greedy for _, is_greedy in expected])
        for (one, _), (other, _) in zip(found, expected):
            self.assertAlmostEqual(one, other, delta=1e-5 * max(1, abs(other)))

    def test_scores_the_choices_of_each_question(self) -> None:
        requests = [Instance(f"{TEXT} {question}", choice) for choice in CHOICES for question in QUESTIONS]
        expected = []
        for request in requests:
            context, continuation = request.args
            joint, query = ids(context + continuation), ids(context.rstrip())
            self.assertEqual(joint[:len(query)], query)
            expected.append(behind(query, joint[len(query):]))
        self.expect_near(model.loglikelihood(requests), expected)
        self.assertTrue(any(is_greedy for _, is_greedy in expected))

    def test_scores_texts_without_a_context(self) -> None:
        self.expect_near(model.loglikelihood([Instance("", TEXT)]), [behind([1], ids(TEXT, add_special_tokens=False))])

    def test_cuts_a_context_that_is_too_long(self) -> None:
        context = " ".join([TEXT] * 150)
        joint = ids(context + CHOICES[0])
        tokens = joint[len(ids(context)):]
        self.assertGreater(len(joint), 2048)
        short = type(model)(service.url, max_length=2047)  # /v1/completions has one token more.
        self.expect_near(short.loglikelihood([Instance(context, CHOICES[0])]), [behind(joint[-2047:-len(tokens)], tokens)])

    def test_scores_whole_texts(self) -> None:
        texts = [TEXT, "The sky is blue."]
        found = model.loglikelihood_rolling([Instance(text) for text in texts])
        self.expect_near([(one, True) for one in found], [(behind([1], ids(text, add_special_tokens=False))[0], True) for text in texts])

    def test_generates(self) -> None:
        prompts = [f"{TEXT} {question}".strip() for question in QUESTIONS]
        found = model.generate_until([Instance(prompt, {"until": ["."], "max_gen_toks": 4, "do_sample": False}) for prompt in prompts])
        reply = service.post("/v1/completions", {"prompt": prompts, "max_tokens": 4, "temperature": 0, "stop": "."})
        self.assertEqual(found, [choice["text"] for choice in reply["choices"]])

    def test_says_why_a_request_is_refused(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "/v1/completions: 400: max_tokens must be"):
            model.generate_until([Instance(TEXT, {"max_gen_toks": -1})])


if __name__ == "__main__":
    unittest.main()
