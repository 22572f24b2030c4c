"""A line on standard error on what is being measured."""
import sys


def progress(what: str) -> None:
    print(f"bench: {what}", file=sys.stderr, flush=True)
