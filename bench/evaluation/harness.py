"""Tasks by lm-evaluation-harness, asked in each of its ways."""
from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import lm_eval
import lm_eval.models  # Registers the harness's own classes.
from lm_eval.api.registry import get_model
from lm_eval.tasks import TaskManager

import clients.lm_eval.scorecast_lm  # Registers ours.
from bench.evaluation.tasks import GENERATING, READING, ROLLING

METRICS = {READING: "acc", ROLLING: "bits_per_byte", GENERATING: "exact_match"}
_CALLS = {READING: "loglikelihood", ROLLING: "loglikelihood_rolling", GENERATING: "generate_until"}


@dataclass(frozen=True)
class Way:
    """A model class of the harness with its arguments."""

    name: str
    model: str = "local-completions"
    arguments: dict[str, Any] = field(default_factory=dict)


_IDS = {"tokenizer_backend": "huggingface"}
OURS = Way("our model class", "scorecast")
_ONE = Way("local-completions", arguments=_IDS)
_LIKELIHOODS = [OURS, _ONE, Way("batches of 8", arguments=_IDS | {"batch_size": 8}), Way("16 at once", arguments=_IDS | {"num_concurrent": 16}),
                Way("strings", arguments=_IDS | {"tokenized_requests": False}),
                Way("strings, batches of 8, 16 at once", arguments=_IDS | {"tokenized_requests": False, "batch_size": 8, "num_concurrent": 16}),
                Way("remote tokenizer", arguments={"tokenizer_backend": "remote"}),
                Way("remote tokenizer, strings, 16 at once",
                    arguments={"tokenizer_backend": "remote", "tokenized_requests": False, "num_concurrent": 16})]
WAYS = {READING: _LIKELIHOODS,
        ROLLING: [OURS, _ONE, Way("remote tokenizer", arguments={"tokenizer_backend": "remote"}), Way("batches of 8, 16 at once", arguments=_IDS | {"batch_size": 8, "num_concurrent": 16})],
        GENERATING: [OURS, _ONE, Way("remote tokenizer", arguments={"tokenizer_backend": "remote"}), Way("no tokenizer, batches of 8, 16 at once",
                                     arguments={"tokenizer_backend": "none", "batch_size": 8, "num_concurrent": 16}),
                     Way("local-chat-completions", "local-chat-completions")]}


@dataclass
class Evaluated:
    metric: float
    answers: list[Any]  # One for each of the harness's requests.
    seconds: float  # From the first request to the last answer, without the harness's own work before and after.


class Harness:
    def __init__(self, tasks: Path) -> None:
        self._tasks = TaskManager(include_path=str(tasks))

    def evaluate(self, task: str, way: Way, url: str, model: Path) -> Evaluated:
        found: dict[str, Any] = {}
        lm = get_model(way.model).create_from_arg_obj(_arguments(way, url, model))
        call = getattr(lm, _CALLS[task])

        def timed(requests: Any, *args: Any, **kwargs: Any) -> Any:
            begin = time.perf_counter()
            found["answers"] = call(requests, *args, **kwargs)
            found["seconds"] = time.perf_counter() - begin
            return found["answers"]

        setattr(lm, _CALLS[task], timed)
        results = lm_eval.simple_evaluate(model=lm, tasks=[task], task_manager=self._tasks, bootstrap_iters=0,
                                          apply_chat_template=way.model == "local-chat-completions")
        return Evaluated(float(results["results"][task][f"{METRICS[task]},none"]), list(found["answers"]), found["seconds"])


def _arguments(way: Way, url: str, model: Path) -> dict[str, Any]:
    if way.model == OURS.model:
        return {"base_url": url}
    path = "/v1/chat/completions" if way.model == "local-chat-completions" else "/v1/completions"
    arguments = {"base_url": url + path, "model": model.name, **way.arguments}
    if arguments.get("tokenizer_backend") == "huggingface":
        arguments["tokenizer"] = str(model)
    return arguments


def versions() -> str:
    return f"lm-eval {lm_eval.__version__}"

