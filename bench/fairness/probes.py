"""Single requests beside others, which say how long a client waits for somebody else's work."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.fairness.bodies import Body, BodyMaker
from bench.fairness.cases import LARGE_TOKENS, STREAM_PROMPT_TOKENS, large_request, long_request
from bench.fairness.load import Load

_TINY_TOKENS = 15
_DOCUMENTS, _DOCUMENT_TOKENS, _QUESTION_TOKENS = 17, 512, 32
# More than the service's default of --max-batch-tokens.
_TWO_PASSES_TOKENS = 12_288


@dataclass(frozen=True)
class Probe:
    """A polite client's request is sent alone, then while the requests of `background` wait or are computed. `title` may
    contain the number of tokens of a long request."""

    name: str
    title: str
    request: Callable[[BodyMaker], Body]
    background: Load | None = None  # None: one long request, which `with_long_requests` sets.
    is_cached: bool = False  # Whether its tokens are in the cache.
    is_stream: bool = False  # Whether the time is the largest between two tokens.

    def with_long_requests(self, tokens: int) -> Probe:
        background = self.background or Load(lambda maker: long_request(maker, tokens), once=True)
        return replace(self, background=background, title=self.title.format(tokens=tokens))


def _tiny(maker: BodyMaker) -> Body:
    return maker.score(_TINY_TOKENS - 2, 2, 1)


PROBES = [
    Probe("tiny-beside-long", f"a score of {_TINY_TOKENS} tokens beside a request of {{tokens:,}}", _tiny),
    Probe("gap-beside-long", "largest gap of a stream beside a request of {tokens:,} tokens",
          lambda maker: maker.stream(STREAM_PROMPT_TOKENS, 4096), is_stream=True),
    Probe("two-passes-behind-long", f"a score of {_TWO_PASSES_TOKENS:,} tokens behind a request of {{tokens:,}}",
          lambda maker: long_request(maker, _TWO_PASSES_TOKENS)),
    Probe("documents-behind-long", f"{_DOCUMENTS} cached documents of {_DOCUMENT_TOKENS} tokens behind a request of {{tokens:,}}",
          lambda maker: maker.documents(_DOCUMENTS, _DOCUMENT_TOKENS, _QUESTION_TOKENS), is_cached=True),
    Probe("tiny-behind-large", f"a score of {_TINY_TOKENS} tokens behind six of {LARGE_TOKENS}", _tiny,
          Load(large_request, in_flight=6, once=True)),
]
