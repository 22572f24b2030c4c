"""Batch files whose responses or partial logits are large."""
from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from bench.company.load import Traffic
from bench.company.measure import Figures
from bench.company.models import SHAPES, model_directory
from bench.company.service import flags_for, last_log_line
from bench.company.side import Build, Settings

_HEAD_BYTES = 400  # The beginning of a record has its status and a message.
# The address space of a batch, so that one that takes too much memory does not end other programs of the machine.
_MOST_BYTES = 12 << 30
_LIMITS = 4  # A batch is given up after so many times the limit of the settings.


@dataclass(frozen=True)
class BatchCase:
    """It runs alone."""

    name: str
    title: str
    lines: int
    items: int
    labels: int
    transports: Sequence[str] = ("batch",)


BATCHES = [
    BatchCase("batch-labels", "12 batch lines of 128 items x 100,000 labels", 12, 128, 100_000),
    BatchCase("batch-pass", "17 batch lines of 128 items x 262,144 labels", 17, 128, 262_144),
    BatchCase("batch-items", "a batch line of 2100 items x 262,144 labels", 1, 2100, 262_144),
]


def _run(settings: Settings, build: Build, case: BatchCase, lines: int, items: int, labels: int) -> Figures:
    body = {"query": [600, 601], "items": [[700 + i % 1000] for i in range(items)], "label_token_ids": list(range(labels))}
    record = {"method": "POST", "url": "/v1/score", "body": body}
    input_file, log = settings.work / f"{case.name}.jsonl", settings.work / f"{case.name}-{build.name}.log"
    input_file.parent.mkdir(parents=True, exist_ok=True)
    with input_file.open("w") as file:
        for number in range(lines):
            file.write(json.dumps({"custom_id": str(number), **record}, separators=(",", ":")) + "\n")
    flags = {"--threads": 2, "--max-items": 4096, "--multi-item-scoring-delimiter": SHAPES["wide"].vocabulary - 1}
    command = [str(build.scorecast), "batch", "--model", str(model_directory("wide", settings.models)),
               "--input", str(input_file), "--output", "-", *flags_for(build.scorecast, "batch", flags)]
    begin = time.monotonic()
    with log.open("w") as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES)))
    assert process.stdout
    killer = threading.Timer(_LIMITS * settings.limit, process.kill)
    killer.start()
    heads = _heads(process.stdout)
    _, status, usage = os.wait4(process.pid, 0)
    killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    input_file.unlink()
    counts = Counter(code[1] if (code := re.search(r'"status_code":(\d+)', head)) else "no status" for head in heads)
    counts["no record"] += lines - len(heads)
    seconds = time.monotonic() - begin
    how = f"exit code {process.returncode}" if process.returncode >= 0 else f"killed by signal {-process.returncode}"
    notes = [f"{how} after {seconds:.0f} s" + (", given up" if seconds > _LIMITS * settings.limit else "")]
    if process.returncode not in (0, 3):
        notes.append(last_log_line(log.read_text(errors="replace")))
    refusals = Counter(found[1] for head in heads if (found := re.search(r'"message":"([^"]*)"', head)))
    notes += [f"{count} x {message}" for message, count in refusals.items()]
    return Figures(case.name, case.title, "batch", build.name, peak_mib=usage.ru_maxrss / 1024, end=Traffic(counts=counts), notes=notes)


def _heads(records: IO[bytes]) -> list[str]:
    """The beginning of each complete line."""
    heads = []
    while head := records.readline(_HEAD_BYTES):
        rest = head
        while rest and not rest.endswith(b"\n"):
            rest = records.readline(1 << 20)
        if rest:
            heads.append(head.decode(errors="replace"))
    return heads


def measure_batch(settings: Settings, case: BatchCase, _: str) -> list[Figures]:
    figures = []
    for build in settings.builds:
        before = _run(settings, build, case, 1, 1, 1).peak_mib
        figures.append(_run(settings, build, case, case.lines, case.items, case.labels))
        figures[-1].begin_mib = before
    return figures
