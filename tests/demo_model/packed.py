"""Requests as packed sequences: token ids, segments, positions, and the target of each row.

The layout is scorecast's (docs/architecture.md): a prefix; blocks that attend to the prefix and themselves and all begin
at the position behind the prefix; suffixes that attend to everything but each other and begin behind the longest block.
A judgement is a prefix (its query) and blocks (its items). A reading also has suffixes (its questions, each with its
answer).
"""
from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import sentencepiece
import torch

from generate_corpus import Judgement, Passage, Reading

PREFIX, BLOCK, SUFFIX = 0, 1, 2
NO_TARGET = -100

# Weights of a row's loss.
ANSWER_WEIGHT = 1.0
YES_WEIGHT = 2.0  # there are more wrong candidates than right ones
NO_WEIGHT = 0.5
TEXT_WEIGHT = 0.2  # passages, and sentences that are right; the text of queries and documents has no weight
READING_WEIGHT = 2.5  # the first token of an answer from documents; a reading has few answers for its length
END_WEIGHT = 0.2


class Tokens:
    """The tokenizer, used as scorecast does: one BOS at the start; query, items, documents and questions separately."""

    def __init__(self, model_dir: Path) -> None:
        self.processor = sentencepiece.SentencePieceProcessor(model_file=str(model_dir / "tokenizer.model"))
        self.bos, self.eos = self.processor.bos_id(), self.processor.eos_id()
        self.delimiter = self.processor.piece_to_id("<|item|>")
        self.encode = lru_cache(maxsize=1 << 17)(self._encode)
        self.period = self.encode("a.")[-1]
        self.yes, self.no = self.single(" yes"), self.single(" no")

    def _encode(self, text: str) -> tuple[int, ...]:
        return tuple(self.processor.encode(text))

    def single(self, text: str) -> int:
        (token,) = self.processor.encode(text)
        return token


@dataclass
class PackedSequence:
    tokens: list[int] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    segments: list[int] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    targets: list[int] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    subjects: list[tuple[int, int]] = field(default_factory=list)  # (row, token): rows from which the subject head predicts a token of the subject
    reads: list[int] = field(default_factory=list)  # the last row of each block or of each question

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, ids: tuple[int, ...] | list[int], kind: int, first_position: int, text_weight: float = 0.0) -> None:
        """Adds a segment. Each row's target is the next token, except the last row's, which has none yet."""
        segment = self.segments[-1] + 1 if self.segments else 0
        self.tokens += ids
        self.kinds += [kind] * len(ids)
        self.segments += [segment] * len(ids)
        self.positions += range(first_position, first_position + len(ids))
        if ids:
            self.targets += [*ids[1:], NO_TARGET]
            self.weights += [text_weight] * (len(ids) - 1) + [0.0]

    def aim(self, row: int, target: int, weight: float) -> None:
        self.targets[row], self.weights[row] = target, weight


def pack_judgement(tokens: Tokens, request: Judgement, delimiter_first: bool = False, complete: bool = False) -> PackedSequence:
    """Packs query and items. The query's last row predicts the right answer, an item's last row yes or no.

    `delimiter_first` puts the delimiter behind the query (--delimiter-visibility first). `complete` ends the right
    item with "." and EOS instead of a verdict, so that the model learns to end a completion.
    """
    sequence = PackedSequence()
    sequence.add([tokens.bos, *tokens.encode(request.query)], PREFIX, 0)
    if request.completion:
        sequence.aim(-1, tokens.encode(request.completion)[0], ANSWER_WEIGHT)
    if delimiter_first:
        sequence.add([tokens.delimiter], PREFIX, len(sequence))
    start = len(sequence)
    for item, verdict in zip(request.items, request.verdicts):
        ids = tokens.encode(item)
        if complete and verdict and request.completion:
            ids += (tokens.period, tokens.eos)
            sequence.add(ids, BLOCK, start, END_WEIGHT)
            sequence.reads.append(len(sequence) - 1)
            continue
        # The text of the right item is learnt, that of a wrong one is not.
        weight = 0.0 if not verdict else ANSWER_WEIGHT if request.completion else TEXT_WEIGHT
        sequence.add(ids, BLOCK, start, weight)
        sequence.aim(-1, tokens.yes if verdict else tokens.no, YES_WEIGHT if verdict else NO_WEIGHT)
        sequence.reads.append(len(sequence) - 1)
    return sequence


def pack_reading(tokens: Tokens, request: Reading, strategy: str = "shared", answered: bool = True) -> PackedSequence:
    """Packs documents and questions. If `answered`, each question is followed by its answer, "." and EOS; otherwise only its
    last row has a target.

    `shared` and `offset` are scorecast's position strategies. `plain` is one causal text with the first question only.
    """
    sequence = PackedSequence()
    sequence.add([tokens.bos, *tokens.encode(request.system)], PREFIX, 0)
    start = end = len(sequence)
    for chunk, said in zip(request.chunks, request.subjects):
        ids = tokens.encode(chunk)
        row = len(sequence)
        for sentence, subject, value in said:
            words, value_ids = tokens.encode(sentence), tokens.encode(value)
            at = len(words) - 1 - words[::-1].index(value_ids[-1])
            sequence.subjects += [(row + i, token) for i in (at, len(words) - 1) for token in tokens.encode(subject)]
            row += len(words)
        sequence.add(ids, PREFIX if strategy == "plain" else BLOCK, start if strategy == "shared" else len(sequence))
        end = max(end, start + len(ids))
    if strategy != "shared":
        end = len(sequence)
    for (question, answer, _), subject in zip(request.questions[:1 if strategy == "plain" else None], request.question_subjects):
        asked, answer_ids = tokens.encode(question), tokens.encode(answer + ".") + (tokens.eos,)
        # If the "question" is the beginning of a statement, its text is learnt, because it can be read in a document.
        sequence.add(asked + answer_ids if answered else asked, SUFFIX, end, 0.0 if question.endswith("?") else TEXT_WEIGHT)
        row = len(sequence) - 1 - (len(answer_ids) if answered else 0)
        sequence.reads.append(row)
        sequence.subjects += [(row, token) for token in tokens.encode(subject)]
        sequence.aim(row, answer_ids[0], READING_WEIGHT)
        for i, target in enumerate(answer_ids[1:] if answered else ()):
            sequence.aim(row + 1 + i, target, END_WEIGHT)
    return sequence


def pack_passage(tokens: Tokens, request: Passage) -> PackedSequence:
    sequence = PackedSequence()
    sequence.add([tokens.bos, *tokens.encode(request.text), tokens.eos], PREFIX, 0, TEXT_WEIGHT)
    return sequence


@dataclass
class Batch:
    """Tensors [rows, length]; `visible` [rows, 1, length, length]."""

    tokens: torch.Tensor
    positions: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor
    visible: torch.Tensor
    subject_rows: torch.Tensor  # [n] of the flattened batch
    subject_tokens: torch.Tensor  # [n]


def collate(rows: list[list[PackedSequence]], length: int) -> Batch:
    """Puts sequences into rows. Sequences of a row do not attend to each other; unused places attend to each other only."""
    shape = (len(rows), length)
    tokens, positions = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    targets, weights = np.full(shape, NO_TARGET, np.int64), np.zeros(shape, np.float32)
    subjects: list[tuple[int, int]] = []
    owner, kind, segment = np.full(shape, -1, np.int32), np.zeros(shape, np.int8), np.zeros(shape, np.int32)
    for r, row in enumerate(rows):
        begin = 0
        for number, sequence in enumerate(row):
            part = slice(begin, begin + len(sequence))
            tokens[r, part], positions[r, part] = sequence.tokens, sequence.positions
            targets[r, part], weights[r, part] = sequence.targets, sequence.weights
            owner[r, part], kind[r, part], segment[r, part] = number, sequence.kinds, sequence.segments
            subjects += [(r * length + begin + i, token) for i, token in sequence.subjects]
            begin += len(sequence)
    query, key = (slice(None), slice(None), None), (slice(None), None, slice(None))
    seen = (kind[key] == PREFIX) | (segment[query] == segment[key]) | ((kind[query] == SUFFIX) & (kind[key] == BLOCK))
    visible = seen & (owner[query] == owner[key]) & np.tril(np.ones((length, length), bool))
    return Batch(*(torch.from_numpy(a) for a in (tokens, positions, targets, weights, visible[:, None])),
                 *torch.tensor(subjects, dtype=torch.long).reshape(-1, 2).T)
