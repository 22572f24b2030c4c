"""bench/run replicas: two replicas of one core each, through a front and asked directly."""
from __future__ import annotations

import argparse
import os
import random
import signal
import sys
from pathlib import Path

from bench.company.models import SHAPES, config, model_directory
from bench.company.service import ServiceFailed
from bench.progress import progress
from bench.replicas.cases import CASES, Settings, Setup
from bench.replicas.figures import Figures, markdown
from bench.replicas.processes import Fleet, Front, front_keys
from bench.result import add_json_flag, print_result

_NAMES = ["a", "b"]
_TRANSPORTS = ["socket", "http"]


def _flags() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench/run replicas", description=__doc__,
                                     formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    add = parser.add_argument
    add("--scorecast", type=Path, default=Path("build/release/scorecast"), metavar="PATH", help="the executable")
    add("--only", nargs="+", choices=list(CASES), metavar="NAME", default=list(CASES), help="these cases: " + ", ".join(CASES))
    add("--transport", nargs="+", choices=_TRANSPORTS, default=_TRANSPORTS, help="of all clients")
    add("--shape", choices=list(SHAPES), default="0.01b", help="of the model, whose weights are random")
    add("--seconds", type=float, default=5, help="of each measurement in a round")
    add("--rounds", type=int, default=5, help="of throughput and latency, each directly and through the front")
    add("--kills", type=int, default=50, help="of a replica")
    add("--front-kills", type=int, default=20, help="of a front")
    add("--seed", type=int, default=1, help="of what is drawn: when a replica is killed, and which")
    add("--models", type=Path, default=Path("build/bench-models"), help="directory of random models")
    add("--work", type=Path, default=Path("build/bench-replicas"), help="directory of logs")
    add_json_flag(parser)
    flags = parser.parse_args()
    if min(flags.rounds, flags.kills, flags.front_kills) < 1 or flags.seconds <= 0:
        parser.error("--rounds, --kills, --front-kills and --seconds must be positive")
    return flags


def main() -> int:
    flags = _flags()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # SystemExit ends all processes.
    load = os.getloadavg()[0]
    scorecast = flags.scorecast.resolve()
    work = flags.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    model = model_directory(flags.shape, flags.models)
    key, keys = front_keys(scorecast, work)
    results: list[Figures] = []
    failed = False
    for transport in flags.transport:
        settings = Settings(scorecast, work, config(model)["vocab_size"], flags.seconds, flags.rounds, flags.kills,
                            flags.front_kills, random.Random(flags.seed))
        for name in flags.only:
            progress(f"replicas: {name}, {transport}")
            try:
                with Fleet(scorecast, model, _NAMES, keys, work, {}) as fleet, \
                        Front(scorecast, fleet.directory, key, work / f"front-{name}-{transport}.log") as front:
                    front.wait_for(_NAMES)
                    results += CASES[name](Setup(settings, fleet, front, transport == "http"))
            except (ServiceFailed, OSError) as fault:
                failed = True
                progress(f"replicas: {name}, {transport}: {fault}")
    about = {name: str(value) if isinstance(value, Path) else value for name, value in vars(flags).items()}
    print_result(markdown(results), {"about": about | {"load_before": load, "cpus": os.cpu_count()}, "cases": results}, flags.json)
    return 1 if failed or not all(each.holds() for each in results) else 0


if __name__ == "__main__":
    sys.exit(main())
