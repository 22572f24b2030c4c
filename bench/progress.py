"""Prints lines on standard error about the current measurement."""
import sys


def progress(what: str) -> None:
    print(f"bench: {what}", file=sys.stderr, flush=True)
