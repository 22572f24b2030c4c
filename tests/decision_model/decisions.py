#!/usr/bin/env python3
"""Generates the corpus: an endless stream of states with questions, drawn from the world with a seed.

    decisions.py --held-out [--count QUESTIONS] [--seed S]      prints the test set as JSON lines
    decisions.py [--count N] [--seed S]                         prints N training requests

A line is a request in the wire format of /v1/systemone with `labels` beside it: the right answers by id. One combination of
kind, subject and value in ten is held out: no training state has such a fact, and every question of the test set asks for one.
"""
from __future__ import annotations

import argparse
import json
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import prompts
from world import EVERYTHING, KINDS, Kind


@dataclass(frozen=True)
class Fact:
    kind: Kind
    subject: str
    value: str

    @property
    def is_held_out(self) -> bool:
        return zlib.crc32(f"{self.kind.name}/{self.subject}/{self.value}".encode()) % 10 == 0


@dataclass
class Question:
    wire: dict
    answer: object
    fact: Fact | None = None  # the one that is asked for
    claim: str = ""  # the value that a noul asks about


@dataclass
class Request:
    state: object
    facts: list[Fact]  # in the order of `marks`
    marks: list[int]  # where the value of each fact ends in the state's text
    questions: list[Question] = field(default_factory=list)


@dataclass(frozen=True)
class Mixture:
    """What is drawn; a lesson of the training."""

    facts: tuple[int, int] = (1, 8)
    kinds: tuple[int, ...] = (1, 2, 3, len(KINDS))  # numbers of kinds in a state, one of which is drawn
    same_subject: float = 0.3
    json: float = 0.2
    questions: int = 6
    types: tuple[float, float, float] = (0.4, 0.35, 0.25)  # noul, choice, score
    options: tuple[int, int] = (2, 10)
    many: float = 0.06  # share of choices with 27 to 30 options
    statements: float = 0.25  # share of nouls that are a statement


def draw_facts(rng: random.Random, mixture: Mixture, held_out: bool) -> list[Fact]:
    """Facts that do not contradict each other. With `held_out` the first one is held out; otherwise none is."""
    kinds = rng.sample(KINDS, rng.choice(mixture.kinds))
    found: list[Fact] = []
    taken: set[tuple[str, str]] = set()
    wanted = rng.randint(*mixture.facts)
    while len(found) < wanted:
        kind = rng.choice(kinds)
        known = sorted({f.subject for f in found if f.kind.subjects is kind.subjects})
        subject = rng.choice(known) if known and rng.random() < mixture.same_subject else rng.choice(kind.subjects)
        fact = Fact(kind, subject, rng.choice(kind.values))
        if (kind.name, subject) in taken or fact.is_held_out != (held_out and not found):
            continue
        taken.add((kind.name, subject))
        found.append(fact)
    return found


def number_or_word(value: str) -> object:
    return int(value) if value.isdigit() else value


def state_of(known: list[Fact], rng: random.Random, as_json: bool) -> tuple[object, list[int]]:
    """The state, and where the value of each fact ends in its text."""
    marks, begin = [], 0
    if not as_json:
        said = [f.kind.fill(rng.choice(f.kind.statements), f.subject, f.value) for f in known]
        for fact, sentence in zip(known, said):
            marks.append(begin + sentence.rindex(fact.value) + len(fact.value))
            begin += len(sentence) + 1
        return " ".join(said), marks
    state: dict = {}
    for fact in known:
        state.setdefault(fact.subject, {})[fact.kind.key] = number_or_word(fact.value)
    text = prompts.as_text(state)
    for fact in known:
        said_of = f'"{fact.kind.key}":{json.dumps(number_or_word(fact.value))}'
        at = text.index(said_of, text.index(f'"{fact.subject}":{{'))
        marks.append(at + len(said_of) - (0 if fact.value.isdigit() else 1))
    return state, marks


def noul(rng: random.Random, known: list[Fact], fact: Fact, mixture: Mixture) -> Question:
    """The claim of a "no" is, half of the time, the value of another fact of the state if there is one."""
    kind = fact.kind
    others = sorted({f.value for f in known if f.kind is kind and f.value != fact.value})
    right = rng.random() < 0.5
    claim = fact.value if right else rng.choice(others if others and rng.random() < 0.5 else [v for v in kind.values if v != fact.value])
    templates = kind.statements if rng.random() < mixture.statements else kind.true
    return Question({"type": "noul", "instructions": kind.fill(rng.choice(templates), fact.subject, claim)}, right, fact, claim)


def choice(rng: random.Random, known: list[Fact], fact: Fact, count: int) -> Question:
    """The wrong options are first values of other facts in the state, then others of the same kind, then any."""
    kind = fact.kind
    others = sorted({f.value for f in known if f.kind is kind and f.value != fact.value})
    names = [fact.value, *rng.sample(others, min(len(others), count - 1))]
    for pool in (kind.values, EVERYTHING):
        left = [value for value in pool if value not in names]
        names += rng.sample(left, min(len(left), count - len(names)))
    rng.shuffle(names)
    wire = {"type": "choice", "instructions": kind.fill(rng.choice(kind.questions), fact.subject), "criteria": dict.fromkeys(names)}
    return Question(wire, fact.value, fact)


def score(rng: random.Random, fact: Fact, count: int) -> Question:
    """`count` levels, or as many as there are: of numbers a fixed list, otherwise some words of the scale in its order."""
    kind = fact.kind
    if kind.levels:
        levels = kind.levels[min(count, len(kind.levels) + 1) - 2]
        right = kind.level_of(fact.value, levels)
    else:
        count = min(count, len(kind.values))
        kept = {fact.value, *rng.sample([v for v in kind.values if v != fact.value], count - 1)}
        levels = tuple(value for value in kind.values if value in kept)
        right = levels.index(fact.value)
    wire = {"type": "score", "instructions": kind.fill(rng.choice(kind.scale), fact.subject), "criteria": list(levels)}
    return Question(wire, right, fact)


def options_of(rng: random.Random, mixture: Mixture) -> int:
    """A number of options; small ones are more frequent."""
    return rng.randint(27, 30) if rng.random() < mixture.many else min(rng.randint(*mixture.options), rng.randint(*mixture.options))


def request(rng: random.Random, mixture: Mixture) -> Request:
    known = draw_facts(rng, mixture, False)
    rng.shuffle(known)
    state, marks = state_of(known, rng, rng.random() < mixture.json)
    made = Request(state, known, marks)
    scored = [f for f in known if f.kind.scale]
    for _ in range(mixture.questions):
        kind = rng.choices(("noul", "choice", "score"), mixture.types)[0]
        if kind == "score" and scored:
            made.questions.append(score(rng, rng.choice(scored), rng.randint(2, 6)))
        elif kind == "noul":
            made.questions.append(noul(rng, known, rng.choice(known), mixture))
        else:
            made.questions.append(choice(rng, known, rng.choice(known), options_of(rng, mixture)))
    return made


def requests(seed: str, mixture: Mixture = Mixture()) -> Iterator[Request]:
    """Yields training requests without end."""
    rng = random.Random(seed)
    while True:
        yield request(rng, mixture)


# The test set takes turns of these types and numbers of options.
TURNS = (*[("noul", 2, 2)] * 9, *[("choice", 2, 2)] * 2, *[("choice", 3, 5)] * 4, *[("choice", 6, 10)] * 4, ("choice", 27, 30),
         *[("score", 2, 6)] * 6)


def held_out(seed: str, count: int) -> Iterator[tuple[object, list[Question]]]:
    """`count` questions; each state has one to three questions, all about a fact that no training state has."""
    rng = random.Random(seed)
    mixture, made = Mixture(), 0
    while made < count:
        known = draw_facts(rng, mixture, True)
        fact = known[0]
        state, _ = state_of(rng.sample(known, len(known)), rng, rng.random() < mixture.json)
        asked = []
        for _ in range(rng.randint(1, 3)):
            kind, low, high = TURNS[made % len(TURNS)]
            if made == count or kind == "score" and not fact.kind.scale:
                break
            if kind == "noul":
                asked.append(noul(rng, known, fact, mixture))
            elif kind == "choice":
                asked.append(choice(rng, known, fact, rng.randint(low, high)))
            else:
                asked.append(score(rng, fact, rng.randint(low, high)))
            made += 1
        if asked:
            yield state, asked


def as_line(state: object, questions: list[Question]) -> str:
    return json.dumps({"state": state, "questions": {f"q{i}": q.wire for i, q in enumerate(questions)},
                       "labels": {f"q{i}": q.answer for i, q in enumerate(questions)}})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", default="corpus")
    parser.add_argument("--held-out", action="store_true")
    args = parser.parse_args()
    if args.held_out:
        for state, questions in held_out(args.seed, args.count):
            print(as_line(state, questions))
        return
    stream = requests(args.seed)
    for _ in range(args.count):
        made = next(stream)
        print(as_line(made.state, made.questions))


if __name__ == "__main__":
    main()
