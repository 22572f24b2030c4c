"""Output of a bench's figures."""
from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any


def add_json_flag(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", nargs="?", type=Path, const=Path("-"), metavar="FILE",
                        help="JSON with every sample instead of the table; to a file: beside the table")


def print_result(table: str, document: dict[str, Any], to: Path | None) -> None:
    """`to` is the value of --json."""
    text = json.dumps(document, indent=1, default=vars)  # Of dataclasses.
    if to == Path("-"):
        print(text)
        return
    print(table)
    if to:
        to.write_text(text + "\n")
