"""The worker's side of the protocol of ../worker/main.cc, for an engine in Python."""
from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.workload import Workload

Pass = Callable[[], np.ndarray]  # Returns what is compared, such as log-probabilities [items, labels].


def worker_flags(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--model", type=Path, required=True, help="the model in the engine's format")
    parser.add_argument("--config", type=Path, required=True, help="the Hugging Face directory of the model")
    parser.add_argument("--dtype", required=True, choices=["f32", "bf16", "int8", "int8-weights"])
    parser.add_argument("--threads", type=int, required=True)
    return parser


def _memory() -> dict[str, int]:
    """Resident bytes of this process, the same as in process_usage.h."""
    names = {"RssAnon": "anonymous", "RssFile": "file", "RssShmem": "shared", "VmHWM": "peak"}
    with open("/proc/self/status") as status:
        pairs = [line.split(":", 1) for line in status]
    return {names[key]: int(value.split()[0]) * 1024 for key, value in pairs if key in names}


def _time(run: Pass) -> dict[str, Any]:
    cpu, begin = time.process_time(), time.perf_counter()
    result = run()
    end, cpu_end = time.perf_counter(), time.process_time()
    return {"t": end - begin, "cpu": cpu_end - cpu, "memory": _memory(),
            "r": np.asarray(result, np.float64).reshape(-1).tolist()}


def serve(info: dict[str, Any], prepare: Callable[[Any], Pass], workload_of: Callable[[str], Any] = Workload.parse) -> None:
    """Replies to lines until the input ends. `prepare` gets what `workload_of` makes of a line. Only the pass that it returns
    is timed, not `prepare` itself."""
    # Libraries print to standard error, because standard output is for replies.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    gc.collect()
    ctypes.CDLL("libc.so.6").malloc_trim(0)  # Memory that only loading needed shall not count.

    def reply(line: dict[str, Any]) -> None:
        out.write(json.dumps(line) + "\n")
        out.flush()

    reply(info)
    passes: dict[str, Pass] = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in passes:
                passes[name] = prepare(workload_of(name))
            reply({"name": name} | _time(passes[name]))
        except Exception as fault:  # noqa: BLE001: an engine may raise anything, and the reply reports it.
            traceback.print_exc()
            reply({"name": name, "err": repr(fault)[:300]})
