"""Compares what scorecast answers with what the library answers from the same model directory.

python -m scorecast.compare DIR asks both about built-in texts or those of a file, and says how much the answers differ at most.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from scorecast import samples
from scorecast.client import Client
from scorecast.errors import ScorecastError
from scorecast.libraries import Model, NotComparableError, Numbers, Omission, Order, Question, models_of, versions
from scorecast.samples import Samples
from scorecast.service import Service, find_binary, launcher_of

EQUAL = 0
DIFFERENT = 1
NOT_COMPARED = 2

TOLERANCE = 1e-5
_MOST_INPUTS = 50
_START_SECONDS = 3600.0
_SHOWN_CHARACTERS = 60

_DESCRIPTION = "Compares what scorecast and the library (sentence-transformers or transformers) answer from the same model directory."
_END = "Behind --: further flags of scorecast serve. Exit codes: 0 the answers are equal, 1 they differ, 2 they were not compared."


@dataclass(frozen=True)
class Difference:
    """The largest difference of some answers. `largest` counts in units of the largest of the library's numbers, if that is more
    than 1: rounding errors of float32 grow with the numbers."""

    what: str
    largest: float
    where: str = ""


@dataclass(frozen=True)
class Ranking:
    """Whether the service's order is one in which no document of a higher score comes behind one of a lower score. Scores that
    differ by no more than the tolerance may be in any order."""

    query: str
    is_right: bool
    where: str = ""


@dataclass(frozen=True)
class Refusal:
    """Why one side gave no answer."""

    what: str
    why: str


Finding = Difference | Ranking | Refusal | Omission


@dataclass(frozen=True)
class Report:
    """What is known of one model. It is equal if something was compared and nothing differs."""

    name: str
    findings: list[Finding]
    tolerance: float

    @property
    def largest(self) -> float:
        return max((one.largest for one in self.findings if isinstance(one, Difference)), default=math.nan)

    @property
    def has_equal_order(self) -> bool:
        return all(one.is_right for one in self.findings if isinstance(one, Ranking))

    @property
    def was_compared(self) -> bool:
        return any(not isinstance(one, Omission) for one in self.findings)

    @property
    def is_equal(self) -> bool:
        refused = any(isinstance(one, Refusal) for one in self.findings)
        return self.was_compared and not refused and self.largest <= self.tolerance and self.has_equal_order

    def lines(self) -> Iterator[str]:
        yield f"{self.name}:"
        rankings = [one for one in self.findings if isinstance(one, Ranking)]
        for one in self.findings:
            if isinstance(one, Difference):
                yield f"  {one.what}: largest difference {one.largest:.1e}" + (f" ({one.where})" if one.largest > self.tolerance else "")
            elif isinstance(one, Refusal):
                yield f"  {one.what}: {one.why}"
            elif isinstance(one, Omission):
                yield f"  not compared: {one.why}"
        if rankings:
            wrong = [one for one in rankings if not one.is_right]
            count = f"{len(rankings) - len(wrong)} of {len(rankings)} queries equal"
            yield f"  order of documents: {'DIFFERENT' if wrong else 'equal'} ({count})"
            for one in wrong:
                yield f"    {_shown(one.query)}: {one.where}"


def report_of(model: Model, client: Client, given: Samples, tolerance: float) -> Report:
    """Asks the model and the service."""
    return Report(model.name, [_finding_of(question, tolerance) for question in model.questions(client, given)], tolerance)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints what differs, and returns the exit code."""
    given = _arguments(arguments)
    try:
        reports = _compare(given)
    except (NotComparableError, ScorecastError, OSError, ValueError) as fault:
        print(f"not compared: {fault}", file=sys.stderr)
        return NOT_COMPARED
    print(f"{versions()}, float32 on the CPU")
    for report in reports:
        for line in report.lines():
            print(line)
    compared = [report for report in reports if report.was_compared]
    if not compared:
        print("not compared")
        return NOT_COMPARED
    if all(report.is_equal for report in compared):
        print(f"equal: no difference is above {given.tolerance:g}")
        return EQUAL
    print(f"DIFFERENT: the tolerance is {given.tolerance:g}")
    return DIFFERENT


def _compare(given: argparse.Namespace) -> list[Report]:
    directory = Path(given.directory)
    asked = samples.from_file(Path(given.texts), given.limit) if given.texts else samples.built_in(given.limit)
    binary = None if given.url else find_binary(given.binary)  # Before a model is loaded for a minute.
    models = models_of(directory)
    if given.url:
        with Client(given.url, api_key=given.api_key) as client:
            return [report_of(model, client, asked, given.tolerance) for model in models]
    flags = [f"--model={directory}", "--port=0", "--http-port=0", *given.flags]
    if not any(flag.startswith("--dtype") for flag in given.flags):
        flags.append("--dtype=f32")
    service = Service([*launcher_of(given.ranks), str(binary), "serve", *flags], _START_SECONDS)
    try:
        with Client(service.url) as client:
            return [report_of(model, client, asked, given.tolerance) for model in models]
    finally:
        service.stop()


def _finding_of(question: Question, tolerance: float) -> Finding:
    if isinstance(question, Omission):
        return question
    what = question.what if isinstance(question, Numbers) else f"order for {_shown(question.query)}"
    try:
        library = question.library()
    except Exception as fault:  # The libraries raise exceptions of many classes.
        return Refusal(what, f"the library gives no answer: {type(fault).__name__}: {fault}")
    try:
        service = question.service()
    except ScorecastError as fault:
        return Refusal(what, f"the service gives no answer: {fault}")
    if isinstance(question, Order):
        return _ranking_of(question.query, library, service, tolerance)  # type: ignore[arg-type]
    return _difference_of(question, library, service)  # type: ignore[arg-type]


def _difference_of(question: Numbers, library: Sequence[Sequence[float]], service: Sequence[Sequence[float]]) -> Difference:
    inputs = question.inputs
    if len(service) != len(library):
        return Difference(question.what, math.inf, f"{len(service)} answers instead of {len(library)}")
    scale = max((abs(number) for row in library for number in row if math.isfinite(number)), default=0.0)
    found = Difference(question.what, 0.0)
    for given, theirs, ours in zip(inputs, library, service, strict=True):
        if len(theirs) != len(ours):
            return Difference(question.what, math.inf, f"{_shown(given)}: {len(ours)} numbers instead of {len(theirs)}")
        for place, (expected, got) in enumerate(zip(theirs, ours, strict=True)):
            difference = _distance(expected, got) / max(scale, 1.0)
            if difference > found.largest:
                number = f"number {place + 1} is " if len(theirs) > 1 else ""
                where = f"{_shown(given)}: {number}{got:.7g} instead of {expected:.7g}"
                found = Difference(question.what, difference, where)
    return found


def _distance(expected: float, got: float) -> float:
    """Infinite if only one of them is a number."""
    if expected == got or (math.isnan(expected) and math.isnan(got)):
        return 0.0
    difference = abs(expected - got)
    return difference if math.isfinite(difference) else math.inf


def _ranking_of(query: str, library: Sequence[float], order: Sequence[int], tolerance: float) -> Ranking:
    if sorted(order) != list(range(len(library))):
        return Ranking(query, False, f"documents {list(order)} of {len(library)}")
    slack = tolerance * max(1.0, *(abs(score) for score in library if math.isfinite(score)))
    lowest = math.inf
    for index in order:
        if not library[index] <= lowest + slack:
            return Ranking(query, False, f"document {index} comes too late in {list(order)}")
        lowest = min(lowest, library[index])
    return Ranking(query, True)


def _shown(given: object) -> str:
    text = repr(given)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    all_arguments = list(sys.argv[1:] if arguments is None else arguments)
    border = all_arguments.index("--") if "--" in all_arguments else len(all_arguments)
    parser = argparse.ArgumentParser("python -m scorecast.compare", description=_DESCRIPTION, epilog=_END)
    parser.add_argument("directory", metavar="DIR", help="the model's directory")
    parser.add_argument("--texts", metavar="FILE", help='lines of texts, or of pairs as JSON: ["query", "document"]')
    parser.add_argument("--limit", type=int, default=_MOST_INPUTS, metavar="N", help="the first N lines are asked about (%(default)s)")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, metavar="X", help="how much equal answers may differ (%(default)s)")
    parser.add_argument("--url", help="asks a service that runs, instead of starting one with float32")
    parser.add_argument("--api-key", metavar="KEY", help="the key for that service")
    parser.add_argument("--binary", metavar="FILE", help="the executable scorecast; otherwise that of SCORECAST_BINARY or PATH")
    parser.add_argument("--ranks", type=int, default=1, metavar="N", help="the number of ranks (%(default)s)")
    given = parser.parse_args(all_arguments[:border])
    given.flags = all_arguments[border + 1 :]
    if given.limit < 1:
        parser.error("--limit must be at least 1")
    if given.ranks < 1:
        parser.error("--ranks must be at least 1")
    if not given.tolerance >= 0:
        parser.error("--tolerance must be at least 0")
    if given.url and (given.flags or given.binary or given.ranks != 1):
        parser.error("--url does not go with flags of a service that is started")
    return given


if __name__ == "__main__":
    sys.exit(main())
