"""A client of scorecast, a service that scores, ranks, decides and completes with language models. docs/python.md shows how."""

from scorecast.async_client import AsyncClient
from scorecast.client import Client
from scorecast.errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    DeadlineError,
    InternalServerError,
    NotFoundError,
    PermissionDeniedError,
    RateLimitError,
    ScorecastError,
    ServiceStartError,
    ServiceUnavailableError,
)
from scorecast.llm import LLM
from scorecast.outputs import CompletionOutput, EmbeddingRequestOutput, Logprob, RequestOutput
from scorecast.questions import Choice, Noul, Score
from scorecast.results import Delta, Usage
from scorecast.sampling import SamplingParams

__version__ = "0.1.0"

__all__ = [
    "LLM",
    "APIConnectionError",
    "APIStatusError",
    "APITimeoutError",
    "AsyncClient",
    "AuthenticationError",
    "BadRequestError",
    "Choice",
    "Client",
    "CompletionOutput",
    "DeadlineError",
    "Delta",
    "EmbeddingRequestOutput",
    "InternalServerError",
    "Logprob",
    "NotFoundError",
    "Noul",
    "PermissionDeniedError",
    "RateLimitError",
    "RequestOutput",
    "SamplingParams",
    "Score",
    "ScorecastError",
    "ServiceStartError",
    "ServiceUnavailableError",
    "Usage",
]
