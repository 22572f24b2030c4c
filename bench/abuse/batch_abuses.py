"""Batch files whose responses or partial logits are large."""
from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections import Counter
from pathlib import Path

from bench.abuse.abuse import Abuse, Result, Settings
from bench.abuse.models import SHAPES, model_directory
from bench.abuse.service import flags_for

_HEAD_BYTES = 400  # Of a record: enough to see its status and a message.


def _batch(lines: int, items: int, labels: int):  # noqa: ANN202
    def run(settings: Settings, result: Result) -> None:
        model = model_directory("wide", settings.models)
        body = {"query": [600, 601], "items": [[700 + i % 1000] for i in range(items)], "label_token_ids": list(range(labels))}
        file = settings.work / f"{result.name}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w") as out:
            for number in range(lines):
                out.write(json.dumps({"custom_id": str(number), "method": "POST", "url": "/v1/score", "body": body},
                                     separators=(",", ":")) + "\n")
        flags = {"--threads": 2, "--max-items": 4096, "--multi-item-scoring-delimiter": SHAPES["wide"].vocabulary - 1}
        command = [str(settings.scorecast), "batch", "--model", str(model), "--input", str(file), "--output", "-",
                   *flags_for(settings.scorecast, "batch", flags)]
        log = settings.work / f"{result.name}.log"
        begin = time.monotonic()
        with log.open("w") as err:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err)
            try:
                assert process.stdout
                heads = _heads(process.stdout.fileno(), begin + 4 * settings.limit)
            finally:
                if heads_missing := process.poll() is None:
                    # It ends by itself once its output has ended, unless the time is over.
                    try:
                        process.stdout.close()
                    except OSError:
                        heads_missing = True
                if heads_missing and time.monotonic() > begin + 4 * settings.limit:
                    process.kill()
                _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        result.memory["peak"] = usage.ru_maxrss / 1024
        for head in heads:
            code = re.search(r'"status_code":(\d+)', head)
            result.counts[code[1] if code else "no status"] += 1
        if len(heads) < lines:
            result.counts["no record"] = lines - len(heads)
        how = f"exit code {process.returncode}" if process.returncode >= 0 else f"killed by signal {-process.returncode}"
        result.notes.append(f"{how} after {seconds:.0f} s")
        if process.returncode not in (0, 3):
            last = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
            result.notes.append(last[-1] if last else "nothing in the log")
        refusals = Counter(found[1] for head in heads if (found := re.search(r'"message":"([^"]*)"', head)))
        result.notes += [f"{count} x {message}" for message, count in refusals.items()]
        file.unlink()
    return run


def _heads(fd: int, deadline: float) -> list[str]:
    """The beginning of each complete line."""
    heads = []
    head = bytearray()
    while time.monotonic() < deadline and (data := os.read(fd, 1 << 20)):
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
