"""The client that waits for each reply."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

import httpx

from scorecast import calls
from scorecast.calls import Call, StreamCall
from scorecast.errors import connection_error, response_error
from scorecast.results import Delta
from scorecast.retries import Attempts
from scorecast.transport import DEFAULT_MAX_RETRIES, DEFAULT_TIMEOUT, DEFAULT_URL, Settings, show_as_method

P = ParamSpec("P")
T = TypeVar("T")


def _method(build: Callable[P, Call[T]]) -> Callable[Concatenate[Client, P], T]:
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(build(*args, **kwargs))

    show_as_method(method, build)
    return method


def _stream_method(build: Callable[P, StreamCall]) -> Callable[Concatenate[Client, P], Generator[Delta, None, None]]:
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Generator[Delta, None, None]:
        return self.stream(build(*args, **kwargs))

    show_as_method(method, build, "Generator[Delta, None, None]")
    return method


class Client:
    """A client of a service. May be used by several threads, and in a `with` statement.

    A request that finds the service busy (429, 503) is sent again up to `max_retries` times, after the time that the
    service names. So is one whose connection breaks.
    """

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_MAX_RETRIES,
        verify: Any = True,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.settings = Settings(base_url, api_key, timeout, max_retries, verify)
        self._http = httpx.Client(**self.settings.httpx_options(), transport=transport)

    score = _method(calls.score)
    likelihood = _method(calls.likelihood)
    rerank = _method(calls.rerank)
    embed = _method(calls.embed)
    classify = _method(calls.classify)
    decide = _method(calls.decide)
    complete = _method(calls.complete)
    complete_stream = _stream_method(calls.complete_stream)
    chat = _method(calls.chat)
    chat_stream = _stream_method(calls.chat_stream)
    ask = _method(calls.ask)
    ask_stream = _stream_method(calls.ask_stream)
    tokenize = _method(calls.tokenize)
    detokenize = _method(calls.detokenize)

    def get(self, path: str) -> Any:
        """The JSON of a resource, such as `/v1/models`."""
        return self._with_retries(lambda: self._http.get(path)).json()

    def post(self, path: str, body: object) -> Any:
        """The JSON of a response, for requests that have no method here."""
        return self._with_retries(lambda: self._http.post(path, json=body)).json()

    def send(self, call: Call[T]) -> T:
        return call.read(self.post(call.path, call.body))

    def stream(self, call: StreamCall) -> Generator[Delta, None, None]:
        """Ends the generation on the service when it is closed."""

        def begin() -> httpx.Response:
            request = self._http.build_request("POST", call.path, json=call.body)
            response = self._http.send(request, stream=True)
            if not response.is_success:
                response.read()
            return response

        response = self._with_retries(begin)
        try:
            for line in response.iter_lines():
                if (delta := call.delta_of(line)) is not None:
                    yield delta
        except httpx.TransportError as fault:
            raise connection_error(fault) from fault
        finally:
            response.close()

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _with_retries(self, attempt_once: Callable[[], httpx.Response]) -> httpx.Response:
        attempts = Attempts(self.settings.max_retries)
        while True:
            try:
                response = attempt_once()
            except httpx.TransportError as fault:
                delay = attempts.delay_after(connection_error(fault), fault)
            else:
                if response.is_success:
                    return response
                delay = attempts.delay_after(response_error(response))
            time.sleep(delay)
