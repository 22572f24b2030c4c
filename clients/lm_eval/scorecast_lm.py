"""A model class for lm-evaluation-harness, which sends all choices of a question as one request.

    python clients/lm_eval/scorecast_lm.py --model scorecast --model_args base_url=http://127.0.0.1:7480 --tasks TASK

is `lm_eval` with this class. docs/evaluation.md says how it compares with the harness's own `local-completions`.
"""
from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, TypeVar

from lm_eval.api.model import LM
from lm_eval.api.registry import register_model
from lm_eval.utils import get_rolling_token_windows, make_disjoint_window

_BUSY = (429, 503)  # The server has room later.
_MOST_ITEMS = 128  # The server's default for --max-items.
_Task, _Result = TypeVar("_Task"), TypeVar("_Result")
# The sum of the log-probabilities of a text's tokens, and whether each token is the most likely one.
Likelihood = tuple[float, bool]


class RequestRefused(RuntimeError):
    def __init__(self, path: str, code: int, body: dict[str, Any]) -> None:
        error = body.get("error") or body  # /v1/completions has OpenAI's form of errors, the other URLs have SGLang's.
        super().__init__(f"{path}: {code}: {error.get('message', error)}")
        self.reason = error.get("reason") or error.get("code")


@register_model("scorecast")
class ScorecastLM(LM):
    """`batch_size`, `max_batch_size` and `device` are what the harness gives to every class. They have no effect here, because the
    choices of a question are one request, and the server packs requests."""

    def __init__(self, base_url: str = "http://127.0.0.1:7480", num_concurrent: int = 4, max_items: int = _MOST_ITEMS, max_length: int = 0,
                 prefix_token_id: int | None = None, max_gen_toks: int = 256, max_retries: int = 5, timeout: int = 300, batch_size: Any = None,
                 max_batch_size: Any = None, device: Any = None) -> None:
        """`max_length`: tokens of a context and a continuation together; 0: as many as the model has positions. `prefix_token_id`: the
        token before a text without a context; if it is not given, BOS or, without one, EOS."""
        super().__init__()
        self._base_url = base_url.rstrip("/")
        self._pool = ThreadPoolExecutor(int(num_concurrent))
        self._max_items = int(max_items)
        self._given_prefix_token = prefix_token_id
        self._max_gen_toks = int(max_gen_toks)
        self._max_retries = int(max_retries)
        self._timeout = int(timeout)
        self._max_length = int(max_length) or self._ask("/v1/models")["data"][0]["max_model_len"]

    def loglikelihood(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[Likelihood]:
        by_context: dict[str, list[int]] = {}
        for i, request in enumerate(requests):
            by_context.setdefault(request.args[0], []).append(i)
        parts = [indices[i:i + self._max_items] for indices in by_context.values() for i in range(0, len(indices), self._max_items)]

        def score(indices: list[int]) -> list[Likelihood]:
            return self._score_texts(requests[indices[0]].args[0], [requests[i].args[1] for i in indices])

        likelihoods: list[Likelihood] = [(0.0, False)] * len(requests)
        for indices, scored in zip(parts, self._each(score, parts)):
            for i, likelihood in zip(indices, scored):
                likelihoods[i] = likelihood
                self.cache_hook.add_partial("loglikelihood", requests[i].args, likelihood)
        return likelihoods

    def loglikelihood_rolling(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[float]:
        def score(request: Any) -> float:
            windows = get_rolling_token_windows(token_list=self._ids(request.args[0]), prefix_token=self._prefix_token,
                                                max_seq_len=self._max_length - 1, context_len=1)
            return sum(self._score_ids(*make_disjoint_window(window))[0] for window in windows)

        sums = list(self._each(score, requests))
        for request, likelihood in zip(requests, sums):
            self.cache_hook.add_partial("loglikelihood_rolling", request.args, likelihood)
        return sums

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        def generate(request: Any) -> str:
            context, given = request.args
            options = {name: value for name, value in given.items() if name not in ("do_sample", "until", "max_gen_toks")}
            until = given.get("until") or []
            body = {"prompt": context, "max_tokens": given.get("max_gen_toks", self._max_gen_toks), "temperature": 0,
                    "stop": [until] if isinstance(until, str) else until, **options}
            return self._ask("/v1/completions", body)["choices"][0]["text"]

        texts = list(self._each(generate, requests))
        for request, text in zip(requests, texts):
            self.cache_hook.add_partial("generate_until", request.args, text)
        return texts

    def _score_texts(self, context: str, continuations: list[str]) -> list[Likelihood]:
        """White space between context and continuation belongs to the continuation, as the harness has it."""
        query = context.rstrip()
        continuations = [context[len(query):] + continuation for continuation in continuations]
        if not query:
            return [self._score_ids([self._prefix_token], self._ids(continuation)) for continuation in continuations]
        try:
            return self._score({"query": query, "items": continuations})
        except RequestRefused as fault:
            if fault.reason != "too_many_positions":
                raise
        # The harness cuts the beginning of a context that is too long.
        context_ids = self._ids(query, add_special_tokens=True)
        joint = [self._ids(query + continuation, add_special_tokens=True) for continuation in continuations]
        return [self._score_ids(context_ids, ids[len(context_ids):]) for ids in joint]

    def _score_ids(self, context: list[int], continuation: list[int]) -> Likelihood:
        kept = max(self._max_length - len(continuation), 1)
        return self._score({"query": context[-kept:], "items": [continuation]})[0]

    def _score(self, body: dict[str, Any]) -> list[Likelihood]:
        response = self._ask("/v1/score", body | {"likelihood": True})
        return [(score[0], is_greedy) for score, is_greedy in zip(response["scores"], response["is_greedy"])]

    @cached_property
    def _prefix_token(self) -> int:
        if self._given_prefix_token is not None:
            return int(self._given_prefix_token)
        if added := self._ids("", add_special_tokens=True):
            return added[0]
        names = self._ask("/tokenizer_info")
        ids = self._ids(names.get("bos_token") or names["eos_token"])
        if len(ids) != 1:
            raise ValueError("BOS and EOS are no tokens if their texts are tokenized: give prefix_token_id.")
        return ids[0]

    def _ids(self, text: str, add_special_tokens: bool = False) -> list[int]:
        return self._ask("/tokenize", {"prompt": text, "add_special_tokens": add_special_tokens})["tokens"]

    def _each(self, of_task: Callable[[_Task], _Result], tasks: Iterable[_Task]) -> Iterable[_Result]:
        """The results in order. `num_concurrent` tasks run at a time."""
        return self._pool.map(of_task, tasks)

    def _ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        """The reply to a POST, or to a GET if there is no body. Asks again while the server is busy or cannot be reached."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base_url + path, data, {"Content-Type": "application/json"})
        for attempt in range(self._max_retries + 1):
            try:
                with urllib.request.urlopen(request, timeout=self._timeout) as response:
                    return json.load(response)
            except urllib.error.HTTPError as error:
                with error:
                    if error.code not in _BUSY or attempt == self._max_retries:
                        raise RequestRefused(path, error.code, json.load(error)) from None
                    wait = float(error.headers.get("Retry-After") or 1)
            except urllib.error.URLError:
                if attempt == self._max_retries:
                    raise
                wait = 1.0
            time.sleep(wait)


if __name__ == "__main__":
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()
