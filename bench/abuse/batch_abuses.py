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
from collections.abc import Callable
from dataclasses import dataclass

from bench.abuse.abuse import Abuse, Result, Settings
from bench.abuse.models import SHAPES, model_directory
from bench.abuse.service import flags_for, last_log_line

_HEAD_BYTES = 400  # The beginning of a record has its status and a message.
# The address space of a batch, so that one that takes too much memory does not end other programs of the machine.
_MOST_BYTES = 12 << 30
_LIMITS = 4  # A batch is given up after so many times the limit of the settings.


@dataclass
class _Run:
    seconds: float
    peak_mib: float
    exit_code: int  # Negative: the number of the signal that killed it.
    heads: list[str]  # The beginning of each record.
    log: str


def _run(settings: Settings, name: str, lines: int, items: int, labels: int) -> _Run:
    body = {"query": [600, 601], "items": [[700 + i % 1000] for i in range(items)], "label_token_ids": list(range(labels))}
    record = {"method": "POST", "url": "/v1/score", "body": body}
    input_file, log = settings.work / f"{name}.jsonl", settings.work / f"{name}.log"
    input_file.parent.mkdir(parents=True, exist_ok=True)
    with input_file.open("w") as file:
        for number in range(lines):
            file.write(json.dumps({"custom_id": str(number), **record}, separators=(",", ":")) + "\n")
    flags = {"--threads": 2, "--max-items": 4096, "--multi-item-scoring-delimiter": SHAPES["wide"].vocabulary - 1}
    command = [str(settings.scorecast), "batch", "--model", str(model_directory("wide", settings.models)),
               "--input", str(input_file), "--output", "-", *flags_for(settings.scorecast, "batch", flags)]
    begin = time.monotonic()
    with log.open("w") as err:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err,
                                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (_MOST_BYTES, _MOST_BYTES)))
    assert process.stdout
    killer = threading.Timer(_LIMITS * settings.limit, process.kill)
    killer.start()
    heads = _heads(process.stdout.fileno())
    _, status, usage = os.wait4(process.pid, 0)
    killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    input_file.unlink()
    return _Run(time.monotonic() - begin, usage.ru_maxrss / 1024, process.returncode, heads, log.read_text(errors="replace"))


def _batch(lines: int, items: int, labels: int) -> Callable[[Settings, Result], None]:
    def run(settings: Settings, result: Result) -> None:
        result.memory["before"] = _run(settings, result.name, 1, 1, 1).peak_mib
        done = _run(settings, result.name, lines, items, labels)
        result.memory["peak"] = done.peak_mib
        for head in done.heads:
            code = re.search(r'"status_code":(\d+)', head)
            result.counts[code[1] if code else "no status"] += 1
        if len(done.heads) < lines:
            result.counts["no record"] = lines - len(done.heads)
        given_up = ", given up" if done.seconds > _LIMITS * settings.limit else ""
        how = f"exit code {done.exit_code}" if done.exit_code >= 0 else f"killed by signal {-done.exit_code}"
        result.notes.append(f"{how} after {done.seconds:.0f} s{given_up}")
        if done.exit_code not in (0, 3):
            result.notes.append(last_log_line(done.log))
        refusals = Counter(found[1] for head in done.heads if (found := re.search(r'"message":"([^"]*)"', head)))
        result.notes += [f"{count} x {message}" for message, count in refusals.items()]
    return run


def _heads(fd: int) -> list[str]:
    """The beginning of each complete line."""
    heads = []
    head = bytearray()
    while data := os.read(fd, 1 << 20):
        *ends, last = data.split(b"\n")
        for end in ends:
            head += end[:_HEAD_BYTES - len(head)] if len(head) < _HEAD_BYTES else b""
            heads.append(head.decode(errors="replace"))
            head.clear()
        head += last[:_HEAD_BYTES - len(head)] if len(head) < _HEAD_BYTES else b""
    return heads


BATCH_ABUSES = [
    Abuse("batch-labels", "12 batch lines of 128 items x 100,000 labels", _batch(12, 128, 100_000)),
    Abuse("batch-pass", "17 batch lines of 128 items x 262,144 labels", _batch(17, 128, 262_144)),
    Abuse("batch-items", "a batch line of 2100 items x 262,144 labels", _batch(1, 2100, 262_144)),
]
