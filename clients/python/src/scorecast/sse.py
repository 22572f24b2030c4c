"""Server-sent events, as the service sends them: each is one line, `data: ` and JSON."""

from __future__ import annotations

import json
from typing import Any

from scorecast.errors import status_error

_DATA = "data:"


def event_of(line: str) -> dict[str, Any] | None:
    """The event of a line. None for a line without one, and for the end of the stream. Raises the error that it may be."""
    if not line.startswith(_DATA):
        return None
    data = line[len(_DATA) :].strip()
    if data == "[DONE]":
        return None
    event: dict[str, Any] = json.loads(data)
    if event.get("object") == "error" or event.get("error"):
        raise status_error(None, event)
    return event
