"""When a request is sent again."""

from __future__ import annotations

import random

from scorecast.errors import (
    APIConnectionError,
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
        asked = failure.retry_after or 0.0
        return None if asked > _LONGEST_RETRY_AFTER else max(asked, backoff) + jitter
    return None


class Attempts:
    """The attempts to send one request."""

    def __init__(self, max_retries: int) -> None:
        self._max_retries = max_retries
        self._failed = 0

    def delay_after(self, failure: ScorecastError, cause: Exception | None = None) -> float:
        """Seconds until the next attempt. Raises `failure` if there is none."""
        delay = retry_delay(failure, self._failed, self._max_retries)
        if delay is None:
            raise failure from cause
        self._failed += 1
        return delay
