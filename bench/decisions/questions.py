"""States and questions of an exact number of tokens."""
from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from bench.decisions.model import words
from bench.decisions.server import Server

STATE_TOKENS, QUESTION_TOKENS = 1000, 40
_OPTIONS = ("ab", "cd", "ef", "gh")
_GUESS = 16  # Words of a first question, from which the number of words follows.

Question = dict[str, Any]


@dataclass
class Texts:
    """Random texts, which almost certainly no request has had before."""

    state_words: int
    instruction_words: int
    order: random.Random

    @classmethod
    def measured(cls, server: Server) -> Texts:
        """Finds out how many words the texts need. A word is a token, and the template adds others."""
        texts = cls(_GUESS, _GUESS, random.Random(1))
        one, two = (server.decide(texts.state(), texts.questions(count)).input_tokens for count in (1, 2))
        question = two - one
        return cls(STATE_TOKENS - (one - question - _GUESS), QUESTION_TOKENS - (question - _GUESS), random.Random(2))

    def state(self) -> str:
        return words(self.state_words, self.order)

    def question(self) -> Question:
        return {"type": "choice", "instructions": words(self.instruction_words, self.order), "criteria": dict.fromkeys(_OPTIONS)}

    def questions(self, count: int) -> dict[str, Question]:
        return {str(i): self.question() for i in range(count)}
