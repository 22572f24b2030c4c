"""Requests as packed sequences: the state is the prefix, and each question a block, as scorecast computes them.

The rows of training have aims beyond the labels; `train.py` says what they are for.
"""
from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

import prompts
from decisions import Question, Request

from packed import BLOCK, PREFIX, PackedSequence  # of the demo model

SUBJECT, VALUE, OPTION, KIND = range(4)  # what a row of an auxiliary aim predicts
FETCH, POINT = 4, 5  # which row it attends to: the value in the state; the right option or the claim


class Tokens:
    """The tokenizer. A question is a later section of the state's text: it has no space mark at its start."""

    def __init__(self, model_dir: Path) -> None:
        model = sentencepiece_model_pb2.ModelProto.FromString((model_dir / "tokenizer.model").read_bytes())
        self.first = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
        model.normalizer_spec.add_dummy_prefix = False
        self.later = sentencepiece.SentencePieceProcessor(model_proto=model.SerializeToString())
        self.bos = self.first.bos_id()
        self.lengths = [1 if p.type == p.BYTE else len(p.piece) for p in model.pieces]

    def state(self, text: str) -> list[int]:
        return [self.bos, *self.first.encode(text)]

    def word(self, text: str) -> int:
        """The token of a word behind a space."""
        (token,) = self.first.encode(text)
        return token

    def label(self, text: str) -> int:
        (token,) = self.later.encode(text)
        return token

    def rows(self, ids: list[int], marks: list[int], extra: int) -> list[int]:
        """The row in which each mark, a number of characters, ends. `extra` characters are in the tokens but not in the text."""
        ends = list(accumulate(self.lengths[i] for i in ids))
        return [bisect_left(ends, mark + extra) for mark in marks]


@dataclass
class Aim:
    row: int
    token: int  # of FETCH and POINT, a row
    what: int


def pack(tokens: Tokens, request: Request) -> tuple[PackedSequence, list[Aim]]:
    sequence, aims = PackedSequence(), []
    ids = tokens.state(prompts.state_text(request.state))
    # BOS and the space mark at the start are one character longer than the text.
    stated = tokens.rows(ids, request.marks, tokens.lengths[tokens.bos] + 1)
    for row, fact in zip(stated, request.facts):
        aims += [Aim(row, tokens.word(fact.subject), SUBJECT), Aim(row, tokens.label(fact.kind.key), KIND)]
    sequence.add(ids, PREFIX, 0)
    behind = len(sequence)
    for question in request.questions:
        ids, marks, labels = question_ids(tokens, question)
        begin = len(sequence)
        sequence.add(ids, BLOCK, behind)
        right = prompts.label_index(question.wire, question.answer)
        sequence.aim(-1, labels[right], 1.0)
        sequence.reads.append(len(sequence) - 1)
        last = len(sequence) - 1
        fact = question.fact
        aims += [Aim(last, tokens.word(fact.subject), SUBJECT), Aim(last, tokens.label(fact.kind.key), KIND),
                 Aim(last, stated[request.facts.index(fact)], FETCH), Aim(last, tokens.word(fact.value), VALUE)]
        if question.wire["type"] == "noul":
            claim = begin + ids.index(tokens.word(question.claim))
            aims += [Aim(claim, labels[0], OPTION), Aim(last, claim if question.answer else 0, POINT)]
        else:
            aims += [Aim(begin + row, label, OPTION) for row, label in zip(marks, labels)]
            aims.append(Aim(last, begin + marks[right], POINT))
    return sequence, aims


def question_ids(tokens: Tokens, question: Question) -> tuple[list[int], list[int], list[int]]:
    """The tokens; the row that ends the name of each option, or the last number of each level; the labels' tokens."""
    wire = question.wire
    head, _ = prompts.head_and_end(wire)
    marks, at = [], len(head)
    for text in prompts.option_lines(wire):
        digits = [i for i, c in enumerate(text) if c.isdigit() and i > 0]
        marks.append(at + (digits[-1] + 1 if digits else len(text) - 1))
        at += len(text)
    ids = tokens.later.encode(prompts.question_text(wire))
    return ids, tokens.rows(ids, marks, 0), [tokens.label(label) for label in prompts.labels(wire)]
