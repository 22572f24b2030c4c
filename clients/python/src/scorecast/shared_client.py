"""An AsyncClient for calls from any event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from scorecast.async_client import AsyncClient
from scorecast.transport import Settings


class SharedAsyncClient:
    """Each event loop has a client while calls are under way in it, because connections belong to a loop, and nobody says when a
    loop ends. A notebook may have several, one after another."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._clients: dict[asyncio.AbstractEventLoop, AsyncClient] = {}
        self._calls: dict[asyncio.AbstractEventLoop, int] = {}

    @asynccontextmanager
    async def borrow(self) -> AsyncGenerator[AsyncClient, None]:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            given = self._settings
            self._clients[loop] = AsyncClient(
                given.base_url, api_key=given.api_key, timeout=given.timeout, max_retries=given.max_retries, verify=given.verify
            )
            self._calls[loop] = 0
        client = self._clients[loop]
        self._calls[loop] += 1
        try:
            yield client
        finally:
            self._calls[loop] -= 1
            if self._calls[loop] == 0:
                del self._clients[loop], self._calls[loop]
                await client.aclose()
