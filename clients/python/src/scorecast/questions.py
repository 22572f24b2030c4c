"""Questions for `decide`. docs/decisions.md says how each is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Noul:
    """Is it true? `true` and `false` say what each answer means."""

    instructions: str | None = None
    true: str | None = None
    false: str | None = None

    def body(self) -> dict[str, Any]:
        meanings = {"true": self.true, "false": self.false}
        criteria = {name: meaning for name, meaning in meanings.items() if meaning is not None}
        return _question("noul", self.instructions, criteria or None)


@dataclass(frozen=True)
class Choice:
    """Which of the options? With a mapping, each option has a description or None."""

    options: Sequence[str] | Mapping[str, str | None]
    instructions: str | None = None

    def body(self) -> dict[str, Any]:
        options = self.options if isinstance(self.options, Mapping) else dict.fromkeys(self.options)
        return _question("choice", self.instructions, dict(options))


@dataclass(frozen=True)
class Score:
    """How much? The levels are in their order, the lowest first."""

    levels: Sequence[str]
    instructions: str | None = None

    def body(self) -> dict[str, Any]:
        return _question("score", self.instructions, list(self.levels))


Question = Noul | Choice | Score


def _question(kind: str, instructions: str | None, criteria: object) -> dict[str, Any]:
    fields = {"type": kind, "instructions": instructions, "criteria": criteria}
    return {name: value for name, value in fields.items() if value is not None}
