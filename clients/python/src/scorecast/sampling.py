"""How tokens are chosen, with the names of vLLM's `SamplingParams`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(kw_only=True)
class SamplingParams:
    """The fields have vLLM's names, meanings and defaults. docs/requests.md describes them.

    `max_tokens` None: as many as the model has positions for. `logprobs` and `prompt_logprobs`: at most 20.
    """

    n: int = 1
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop: str | Sequence[str] | None = None
    stop_token_ids: Sequence[int] | None = None
    bad_words: Sequence[str] | None = None
    include_stop_str_in_output: bool = False
    ignore_eos: bool = False
    max_tokens: int | None = 16
    min_tokens: int = 0
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    skip_special_tokens: bool = True
    truncate_prompt_tokens: int | None = None
    logit_bias: Mapping[int, float] | None = None
    allowed_token_ids: Sequence[int] | None = None

    def body(self) -> dict[str, Any]:
        """The fields of a request to `/v1/completions`."""
        fields: dict[str, Any] = {name: value for name, value in vars(self).items() if value is not None}
        if self.logit_bias is not None:
            fields["logit_bias"] = {str(token): bias for token, bias in self.logit_bias.items()}
        return fields
