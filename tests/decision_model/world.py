"""The world of the decision model: kinds of facts, sentences that state them, and how they are asked for.

Persons live in cities, work, have moods and apples; things have a colour, a size, a price and an owner; places are cold or warm.
Every subject and every value is one word, and the value comes last of the two. Names and cities come from facts.py of the
demo model.
"""
from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "demo_model"))  # its names differ from those of this directory

import facts  # noqa: E402

PERSONS = tuple(facts.NAMES)
THINGS = tuple(("key ring book lamp box bag cup ball letter map pen clock chair table shirt knife drum boat flute sofa bench "
                "kettle").split())
PLACES = tuple(facts.ROOMS)
NUMBERS = tuple(str(n) for n in range(2, 21))


@dataclass(frozen=True)
class Kind:
    """A kind of fact: {s} is the subject, {v} the value, {av} the value with its article.

    `key`: its key in a JSON state. `true`: questions that "yes" or "no" answers; a statement may also be one. `levels`: the
    lists of levels of a scale of numbers; the values themselves are the levels of another scale.
    """

    name: str
    subjects: tuple[str, ...]
    values: tuple[str, ...]
    key: str
    statements: tuple[str, ...]
    questions: tuple[str, ...]
    true: tuple[str, ...]
    scale: tuple[str, ...] = ()  # questions for a level
    levels: tuple[tuple[str, ...], ...] = ()

    def fill(self, template: str, subject: str, value: str = "") -> str:
        text = template.format(s=subject, v=value, av=facts.with_article(value) if value else "")
        return text[0].upper() + text[1:]

    def level_of(self, value: str, levels: tuple[str, ...]) -> int:
        """The index of the level of a number: "8 to 13 coins"."""
        return next(i for i, level in enumerate(levels) if int(value) <= int(level.split()[2]))


def number_levels(unit: str) -> tuple[tuple[str, ...], ...]:
    cuts = (("2 to 10", "11 to 20"), ("2 to 7", "8 to 13", "14 to 20"), ("2 to 5", "6 to 10", "11 to 15", "16 to 20"))
    return tuple(tuple(f"{level} {unit}" for level in levels) for levels in cuts)


KINDS = (
    Kind("home", PERSONS, facts.CITIES, "home", ("{s} lives in {v}.", "The home of {s} is in {v}."),
         ("Where does {s} live?", "In which city does {s} live?"), ("Does {s} live in {v}?", "Is the home of {s} in {v}?")),
    Kind("job", PERSONS, tuple(facts.JOBS), "job", ("{s} works as {av}.", "The job of {s} is {v}."),
         ("What is the job of {s}?", "What does {s} work as?"), ("Does {s} work as {av}?", "Is the job of {s} {v}?")),
    Kind("mood", PERSONS, ("calm", "worried", "annoyed", "angry", "furious"), "mood", ("{s} feels {v}.", "The mood of {s} is {v}."),
         ("What is the mood of {s}?", "How does {s} feel?"), ("Does {s} feel {v}?", "Is the mood of {s} {v}?"),
         ("How angry is {s}?", "What is the mood of {s}?")),
    Kind("count", PERSONS, NUMBERS, "apples", ("{s} has {v} apples.", "The number of apples of {s} is {v}."),
         ("How many apples does {s} have?", "What is the number of apples of {s}?"),
         ("Does {s} have {v} apples?", "Is the number of apples of {s} {v}?"), ("How many apples does {s} have?",),
         number_levels("apples")),
    Kind("colour", THINGS, (*facts.PAINTS, "pink", "purple", "orange"), "colour",
         ("The colour of the {s} is {v}.", "The {s} is painted {v}."),
         ("What is the colour of the {s}?", "Which colour does the {s} have?"),
         ("Is the colour of the {s} {v}?", "Is the {s} painted {v}?")),
    Kind("price", THINGS, NUMBERS, "price", ("The {s} costs {v} coins.", "The price of the {s} is {v} coins."),
         ("How much does the {s} cost?", "What is the price of the {s}?"),
         ("Does the {s} cost {v} coins?", "Is the price of the {s} {v} coins?"),
         ("How expensive is the {s}?", "How much does the {s} cost?"), number_levels("coins")),
    Kind("owner", THINGS, PERSONS, "owner", ("The {s} belongs to {v}.", "The owner of the {s} is {v}."),
         ("Who owns the {s}?", "Who is the owner of the {s}?"), ("Does the {s} belong to {v}?", "Is the owner of the {s} {v}?")),
    Kind("size", THINGS, ("tiny", "small", "medium", "large", "huge"), "size", ("The {s} is {v}.", "The size of the {s} is {v}."),
         ("What is the size of the {s}?", "How big is the {s}?"), ("Is the {s} {v}?", "Is the size of the {s} {v}?"),
         ("How big is the {s}?", "What is the size of the {s}?")),
    Kind("heat", PLACES, ("freezing", "cold", "cool", "warm", "hot", "boiling"), "heat", ("The {s} is {v}.", "In the {s} it is {v}."),
         ("How warm is the {s}?", "How is it in the {s}?"), ("Is the {s} {v}?", "Is it {v} in the {s}?"),
         ("How warm is the {s}?", "How hot is it in the {s}?")),
)
EVERYTHING = tuple(sorted({value for kind in KINDS for value in kind.values} - set(NUMBERS)))
