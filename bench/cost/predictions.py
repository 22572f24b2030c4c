"""Calibrations, which `scorecast serve` writes, and predictions of `scorecast inspect --hosts`."""
from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from bench.company.service import last_log_line
from bench.cost.layouts import Directories, Layout, command_line, environment
from bench.network.hosts import Hosts
from bench.progress import progress

CALIBRATION_SECONDS = 300  # At most, with the start of the service.


class CostFailed(Exception):
    """The message says in one line what failed."""


def write_calibration(scorecast: Path, model: Path, dtype: str, layout: Layout, hosts: Hosts | None,
                      directories: Directories, to: Path) -> None:
    """Starts a service of this layout, and ends it when it has written the file."""
    progress(f"cost: calibration of {dtype}, {layout}")
    to.unlink(missing_ok=True)
    serve = [str(scorecast.resolve()), "serve", "--model", str(model.resolve()), "--dtype", dtype, "--threads",
             str(layout.threads), "--port", "0", "--http-port", "-1", "--kv-cache-mb", "0", "--write-calibration", str(to.resolve())]
    log = to.with_suffix(".txt")
    with log.open("w") as file:
        service = subprocess.Popen(command_line(layout, hosts, directories, serve), stdin=subprocess.DEVNULL,
                                   stdout=file, stderr=file, env=environment(), start_new_session=True)
        try:
            end = time.monotonic() + CALIBRATION_SECONDS
            while not to.exists():
                if service.poll() is not None or time.monotonic() > end:
                    raise CostFailed(f"no calibration of {dtype}, {layout}: {last_log_line(log.read_text(errors='replace'))}")
                time.sleep(0.1)
        finally:
            service.send_signal(signal.SIGTERM)
            try:
                service.wait(30)
            except subprocess.TimeoutExpired:
                service.kill()
                service.wait()


def inspect(scorecast: Path, model: Path, calibrations: list[Path], hosts: int, cores: int, bandwidth: float,
            flags: list[str]) -> dict[str, Any]:
    """The JSON of `scorecast inspect --hosts`."""
    command = [str(scorecast), "inspect", "--model", str(model), "--hosts", str(hosts), "--cores", str(cores),
               "--bandwidth", f"{bandwidth:g}", "--json", *flags]
    for path in calibrations:
        command += ["--calibration", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CostFailed(f"{' '.join(command)}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def predicted(scorecast: Path, model: Path, calibrations: list[Path], layout: Layout, bandwidth: float,
              workload: str) -> dict[str, Any]:
    """What `inspect` says of one layout and of a request like the workload, "300+10x10"."""
    query, _, items = workload.partition("+")
    count, _, tokens = items.partition("x")
    answer = inspect(scorecast, model, calibrations, layout.hosts, layout.ranks_a_host * layout.threads, bandwidth,
                     ["--query-tokens", query, "--items", count, "--item-tokens", tokens, "--host-memory", "1000",
                      "--max-batch-tokens", "16384"])
    return next(each for each in answer["layouts"]
                if (each["hosts"], each["ranks_a_host"], each["threads"]) ==
                (layout.hosts, layout.ranks_a_host, layout.threads))
