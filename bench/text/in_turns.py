"""The text benches of two builds, in turns."""
from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.passes.tables import table
from bench.progress import progress
from bench.samples import spread

_PROGRAM = "bench/text/scorecast_text_bench"
_COLUMNS = ("alone", "continued")


def medians(output: str) -> dict[str, list[float]]:
    """Of each tokenizer, in milliseconds: items alone, and as continuations."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in output.splitlines() if line.startswith("| ")]
    return {f"{row[0]}, {row[1]}": [float(cell.split()[0]) for cell in row[2:4]] for row in rows if re.match(r"\d", row[2])}


def markdown(ours: Sequence[dict[str, list[float]]], others: Sequence[dict[str, list[float]]]) -> str:
    """The medians of each turn, and their ratios within a turn."""
    rows = []
    for name in ours[0]:
        for column, what in enumerate(_COLUMNS):
            pairs = [(this[name][column], other[name][column]) for this, other in zip(ours, others)]
            rows.append([name, what, *(spread(values, 2) for values in zip(*pairs)), spread([a / b for a, b in pairs], 3)])
    return table(["tokenizer, tokens", "items", "this build, ms", "the other, ms", "this / other"], rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench/run text", description="Other flags are those of the text bench.")
    parser.add_argument("--build", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--against", type=Path, required=True, metavar="BUILD_DIR", help="the other build")
    parser.add_argument("--turns", type=int, default=7, help="of each build (default: %(default)s)")
    flags, others = parser.parse_known_args()
    builds = [flags.build, flags.against]
    found: list[list[dict[str, list[float]]]] = [[], []]
    for turn in range(flags.turns):
        progress(f"text: turn {turn + 1} of {flags.turns}")
        for which in (1, 0) if turn % 2 else (0, 1):
            run = subprocess.run([builds[which] / _PROGRAM, *others], stdout=subprocess.PIPE, text=True, check=True)
            found[which].append(medians(run.stdout))
    print(markdown(*found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
