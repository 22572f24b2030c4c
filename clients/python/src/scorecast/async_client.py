"""The client for asyncio and other event loops that httpx knows."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar

import anyio
import httpx

from scorecast import calls
from scorecast.calls import Call, StreamCall
from scorecast.errors import connection_error, response_error
from scorecast.results import Delta
from scorecast.retries import Attempts
from scorecast.transport import DEFAULT_MAX_RETRIES, DEFAULT_TIMEOUT, DEFAULT_URL, Settings, show_as_method

P = ParamSpec("P")
T = TypeVar("T")


def _method(build: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.send(build(*args, **kwargs))

    show_as_method(method, build)
    return method


def _stream_method(
    build: Callable[P, StreamCall],
) -> Callable[Concatenate[AsyncClient, P], AsyncGenerator[Delta, None]]:
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[Delta, None]:
        return self.stream(build(*args, **kwargs))

    show_as_method(method, build, "AsyncGenerator[Delta, None]")
    return method


class AsyncClient:
    """The calls of `Client` as coroutines. An object belongs to the event loop in which it is first used."""

    def __init__(
        self,
        base_url: str = DEFAULT_URL,
        *,
        api_key: str | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        max_retries: int = DEFAULT_MAX_RETRIES,
        verify: Any = True,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings = Settings(base_url, api_key, timeout, max_retries, verify)
        self._http = httpx.AsyncClient(**self.settings.httpx_options(), transport=transport)

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

    async def get(self, path: str) -> Any:
        """The JSON of a resource, such as `/v1/models`."""
        return (await self._with_retries(lambda: self._http.get(path))).json()

    async def post(self, path: str, body: object) -> Any:
        """The JSON of a response, for requests that have no method here."""
        return (await self._with_retries(lambda: self._http.post(path, json=body))).json()

    async def send(self, call: Call[T]) -> T:
        return call.read(await self.post(call.path, call.body))

    async def stream(self, call: StreamCall) -> AsyncGenerator[Delta, None]:
        """Ends the generation on the service when it is closed."""

        async def begin() -> httpx.Response:
            request = self._http.build_request("POST", call.path, json=call.body)
            response = await self._http.send(request, stream=True)
            if not response.is_success:
                await response.aread()
            return response

        response = await self._with_retries(begin)
        try:
            async for line in response.aiter_lines():
                if (delta := call.delta_of(line)) is not None:
                    yield delta
        except httpx.TransportError as fault:
            raise connection_error(fault) from fault
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None) -> None:
        await self.aclose()

    async def _with_retries(self, attempt_once: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
        attempts = Attempts(self.settings.max_retries)
        while True:
            try:
                response = await attempt_once()
            except httpx.TransportError as fault:
                delay = attempts.delay_after(connection_error(fault), fault)
            else:
                if response.is_success:
                    return response
                delay = attempts.delay_after(response_error(response))
            await anyio.sleep(delay)
