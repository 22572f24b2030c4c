"""What `LLM` returns, in the shape of vLLM's outputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

_TOKEN_PREFIX = "token_id:"


@dataclass
class Logprob:
    """The service gives no `rank` to generated tokens. `decoded_token` is the token's text in the middle of a text; it is None if
    the model has no tokenizer.
    """

    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


Logprobs = dict[int, Logprob]


@dataclass
class CompletionOutput:
    """`cumulative_logprob` and `logprobs` are there if the sampling parameters ask for `logprobs`."""

    index: int
    text: str
    token_ids: list[int]
    cumulative_logprob: float | None = None
    logprobs: list[Logprobs] | None = None
    finish_reason: str | None = None
    stop_reason: int | str | None = None

    def finished(self) -> bool:
        return self.finish_reason is not None


@dataclass
class RequestOutput:
    """`prompt_token_ids`: the tokens of the prompt as one text, also if it is split at separators."""

    request_id: str
    prompt: str | None
    prompt_token_ids: list[int]
    prompt_logprobs: list[Logprobs | None] | None
    outputs: list[CompletionOutput]
    finished: bool = True
    num_cached_tokens: int = 0


@dataclass
class EmbeddingOutput:
    embedding: list[float]

    @property
    def hidden_size(self) -> int:
        return len(self.embedding)


@dataclass
class EmbeddingRequestOutput:
    request_id: str
    outputs: EmbeddingOutput
    prompt_token_ids: list[int]
    finished: bool = True


def request_output(prompt: str | None, prompt_token_ids: Sequence[int], response: dict[str, Any]) -> RequestOutput:
    """`response`: that of `/v1/completions` to one prompt, with `return_token_ids` and `return_tokens_as_token_ids`."""
    details = response["usage"].get("prompt_tokens_details") or {}
    return RequestOutput(
        request_id=response["id"],
        prompt=prompt,
        prompt_token_ids=list(prompt_token_ids),
        prompt_logprobs=_prompt_logprobs(response["choices"][0].get("prompt_logprobs")),
        outputs=[_completion_output(choice) for choice in response["choices"]],
        num_cached_tokens=details.get("cached_tokens", 0),
    )


def all_logprobs(output: RequestOutput) -> Iterator[tuple[int, Logprob]]:
    """Tokens, each with its entry: those of the prompt, then those of the completions."""
    for places in (output.prompt_logprobs, *(one.logprobs for one in output.outputs)):
        for place in places or ():
            yield from (place or {}).items()


def _completion_output(choice: dict[str, Any]) -> CompletionOutput:
    logprobs = choice.get("logprobs")
    return CompletionOutput(
        index=choice["index"],
        text=choice["text"],
        token_ids=choice["token_ids"],
        cumulative_logprob=None if logprobs is None else sum(logprobs["token_logprobs"]),
        logprobs=None if logprobs is None else [_logprobs(top) for top in logprobs["top_logprobs"]],
        finish_reason=choice["finish_reason"],
    )


def _logprobs(top: dict[str, float]) -> Logprobs:
    return {int(token.removeprefix(_TOKEN_PREFIX)): Logprob(logprob) for token, logprob in top.items()}


def _prompt_logprobs(places: list[dict[str, dict[str, Any]] | None] | None) -> list[Logprobs | None] | None:
    if places is None:
        return None
    return [
        None if place is None else {int(token): Logprob(one["logprob"], one["rank"]) for token, one in place.items()} for place in places
    ]
