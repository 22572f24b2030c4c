"""When a request is sent again."""

from __future__ import annotations

import random

from scorecast.errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    RateLimitError,
    ScorecastError,
    ServiceUnavailableError,
)

_FIRST_DELAY = 0.25
_LONGEST_DELAY = 8.0
_LONGEST_RETRY_AFTER = 60.0


def retry_delay(failure: ScorecastError, attempt: int, max_retries: int) -> float | None:
    """Seconds until the next attempt, or None if there is none. `attempt`: number of attempts before the one that failed.

    Requests change nothing on the service, so each may be sent again. A busy service says when, with `Retry-After`, and the
    delay is never shorter. If that is more than a minute, the caller hears of it at once. A request that has taken longer
    than the client's timeout would do so again.
    """
    if attempt >= max_retries or isinstance(failure, APITimeoutError):
        return None
    backoff = min(_FIRST_DELAY * 2.0**attempt, _LONGEST_DELAY)
    jitter = backoff * random.random()  # Clients that were refused together do not come back together.
    if isinstance(failure, APIConnectionError):
        return backoff + jitter
    if isinstance(failure, RateLimitError | ServiceUnavailableError):
        asked = _retry_after(failure)
        return None if asked > _LONGEST_RETRY_AFTER else max(asked, backoff) + jitter
    return None


def _retry_after(failure: APIStatusError) -> float:
    return failure.retry_after or 0.0
