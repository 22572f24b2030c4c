"""What `Client` and `AsyncClient` have in common besides their calls."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

DEFAULT_URL = "http://127.0.0.1:7480"
DEFAULT_TIMEOUT = 600.0
DEFAULT_MAX_RETRIES = 5


@dataclass(frozen=True)
class Settings:
    """How a service is reached. `timeout`: seconds that the service may be silent. `verify`: as httpx has it, for TLS."""

    base_url: str = DEFAULT_URL
    api_key: str | None = None
    timeout: float = DEFAULT_TIMEOUT
    max_retries: int = DEFAULT_MAX_RETRIES
    verify: Any = True

    def httpx_options(self) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {self.api_key}"} if self.api_key else {}
        return {
            "base_url": self.base_url.rstrip("/"),
            "headers": headers,
            "timeout": httpx.Timeout(self.timeout, connect=min(self.timeout, 10.0)),
            # Reading the certificates of CAs takes a while, which requests in clear do not need.
            "verify": self.verify if self.base_url.startswith("https:") else False,
        }


def show_as_method(method: Any, build: Callable[..., Any], stream: str | None = None) -> None:
    """Gives `method` the name, the help and the parameters of the function that builds its call.

    The method of a call returns what stands in its `Call[…]`. `stream`: what the method of a stream returns.
    """
    functools.update_wrapper(method, build)
    signature = inspect.signature(build)
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    returned = stream or signature.return_annotation.removeprefix("Call[").removesuffix("]")
    method.__annotations__ = {**build.__annotations__, "return": returned}
    method.__signature__ = signature.replace(parameters=[this, *signature.parameters.values()], return_annotation=returned)
