"""What can go wrong. Errors of replies have the names that users of the openai package know."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime

import httpx


class ScorecastError(Exception):
    """Base class of all errors of this package."""


class ServiceStartError(ScorecastError):
    """The service that an `LLM` was to start has not become ready. The message has its reason."""


class APIConnectionError(ScorecastError):
    """The service cannot be reached, or the connection broke."""


class APITimeoutError(APIConnectionError):
    """The service has not replied within the client's `timeout`."""


class APIStatusError(ScorecastError):
    """The service has refused the request. docs/requests.md lists the reasons."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        reason: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(f"{status} {reason}: {message}" if reason else f"{status}: {message}")
        self.status = status
        self.message = message
        self.reason = reason  # A stable code, such as "too_many_items".
        self.param = param  # The field at fault, such as "items[3]".
        self.retry_after = retry_after  # Seconds after which the service may have room.
        self.request_id = request_id  # Stands in the service's log, too.


class BadRequestError(APIStatusError):
    """400 and those other codes below 500 that have no class of their own."""


class AuthenticationError(APIStatusError):
    """401: the service needs a key, and the request has none or a wrong one."""


class PermissionDeniedError(APIStatusError):
    """403: the key is for other models, or the host is not allowed."""


class NotFoundError(APIStatusError):
    """404: the service has another model, or does not have this URL."""


class RateLimitError(APIStatusError):
    """429: too much is waiting. Raised after the client's last attempt."""


class InternalServerError(APIStatusError):
    """500 and above."""


class ServiceUnavailableError(InternalServerError):
    """503: the service drains, or has no room. Raised after the client's last attempt."""


class DeadlineError(InternalServerError):
    """504: the request's `timeout_ms` passed."""


_CLASSES: dict[int, type[APIStatusError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    429: RateLimitError,
    503: ServiceUnavailableError,
    504: DeadlineError,
}
# Errors in the middle of a stream have no status when their form is OpenAI's.
_STATUS_OF_REASON = {"deadline_passed": 504, "draining": 503, "overloaded": 503}


def status_error(status: int | None, body: object, *, retry_after: float | None = None, request_id: str | None = None) -> APIStatusError:
    """The error that a body describes, in SGLang's flat form or in OpenAI's nested one. `status` is None in a stream."""
    fields: Mapping[str, object] = body if isinstance(body, Mapping) else {}
    nested = fields.get("error")
    if isinstance(nested, Mapping):
        fields = {**nested, "reason": nested.get("code")}
    reason = _text(fields.get("reason"))
    if status is None:
        code = fields.get("code")
        status = code if isinstance(code, int) else _STATUS_OF_REASON.get(reason or "", 500)
    kind = _CLASSES.get(status, InternalServerError if status >= 500 else BadRequestError)
    message = _text(fields.get("message")) or (body if isinstance(body, str) and body else "no message")
    return kind(
        status,
        message,
        reason=reason,
        param=_text(fields.get("param")),
        retry_after=retry_after,
        request_id=request_id,
    )


def response_error(response: httpx.Response) -> APIStatusError:
    """The error of a response whose body has been read."""
    try:
        body: object = response.json()
    except ValueError:
        body = response.text
    return status_error(
        response.status_code,
        body,
        retry_after=retry_after_seconds(response.headers.get("retry-after")),
        request_id=response.headers.get("x-request-id"),
    )


def connection_error(fault: httpx.TransportError) -> APIConnectionError:
    kind = APITimeoutError if isinstance(fault, httpx.TimeoutException) else APIConnectionError
    return kind(str(fault) or type(fault).__name__)


def retry_after_seconds(value: str | None) -> float | None:
    """The field `Retry-After`: seconds or, from a proxy, a date."""
    if value is None:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            date = parsedate_to_datetime(value)
        except ValueError:
            return None
        if date.tzinfo is None:
            date = date.replace(tzinfo=timezone.utc)
        seconds = (date - datetime.now(timezone.utc)).total_seconds()
    return max(seconds, 0.0) if math.isfinite(seconds) else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None
