"""The predictions of docs/scaling.md: tables, and plots as SVG, of `scorecast inspect --hosts`."""
from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

from bench.cost.line_chart import Line, LineChart, svg
from bench.cost.predictions import CostFailed, inspect
from bench.progress import progress

HOSTS, CORES = 64, 64
SHOWN_HOSTS = [1, 2, 4, 8, 16, 32, 64]
BANDWIDTHS = [10, 100]  # Gbit/s; the first is dashed.
HOST_FLAGS = ["--latency", "20", "--memory-bandwidth", "300", "--host-memory", "512"]
COLORS = {"0.6B": "#4c78a8", "8B": "#f58518", "70B": "#54a24b"}

LLAMA3 = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "vocab_size": 128256, "num_key_value_heads": 8,
          "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 500000.0, "hidden_act": "silu",
          "tie_word_embeddings": False, "torch_dtype": "bfloat16"}
# config.json of Qwen3-0.6B, Llama-3-8B and Llama-3-70B, as far as it is read.
CONFIGS: dict[str, dict[str, Any]] = {
    "0.6B": {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "vocab_size": 151936, "hidden_size": 1024,
             "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 128,
             "intermediate_size": 3072, "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
             "hidden_act": "silu", "tie_word_embeddings": True, "torch_dtype": "bfloat16"},
    "8B": LLAMA3 | {"hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "intermediate_size": 14336},
    "70B": LLAMA3 | {"hidden_size": 8192, "num_hidden_layers": 80, "num_attention_heads": 64, "intermediate_size": 28672},
}


def add_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plots", nargs="?", type=Path, const=Path("docs/scaling"), metavar="DIR",
                        help="measures nothing: writes paper.md of docs/scaling.md with its plots to DIR (docs/scaling)")
    parser.add_argument("--calibration", nargs="+", type=Path, metavar="FILE",
                        help="calibrations for --plots, which are copied to DIR (those of DIR; if there are none, those of "
                             "the last run in bf16)")


def _predictions(flags: argparse.Namespace, calibrations: list[Path]) -> dict[tuple[str, int], dict[str, Any]]:
    answers = {}
    for name, config in CONFIGS.items():
        model = flags.work / "shapes" / name
        model.mkdir(parents=True, exist_ok=True)
        (model / "config.json").write_text(json.dumps(config, indent=1) + "\n")
        for bandwidth in BANDWIDTHS:
            progress(f"cost: {name}, {bandwidth} Gbit/s")
            answers[name, bandwidth] = inspect(flags.scorecast, model, calibrations, HOSTS, CORES, bandwidth, HOST_FLAGS)
    return answers


def _lines(answers: dict[tuple[str, int], dict[str, Any]], which: str, figure: str) -> list[Line]:
    return [Line(f"{name}, {bandwidth} Gbit/s", COLORS[name], bandwidth == BANDWIDTHS[0],
                 [(best["hosts"], best[which][figure]) for best in answer["best"] if best[which]])
            for (name, bandwidth), answer in answers.items()]


def _layout(best: dict[str, Any]) -> str:
    return f"{best['hosts']} x {best['ranks_a_host']} x {best['threads']}"


def table(answer: dict[str, Any]) -> str:
    """The best layouts of some numbers of hosts as a Markdown table."""
    header = ["hosts", "most items/s: layout", "replicas", "items/s", "p50, s", "limited by", "shortest p50: layout", "p50, s",
              "communication", "limited by", "GiB a host"]
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    for best in answer["best"]:
        if best["hosts"] not in SHOWN_HOSTS:
            continue
        most, shortest = best["most_items"], best["shortest"]
        cells = [str(best["hosts"])]
        if most is None:
            cells += ["does not fit"] + [""] * (len(header) - 2)
        else:
            cells += [_layout(most), str(most["replicas"]), f"{most['items_per_s']:.4g}", f"{most['p50_s']:.3g}", most["limit"],
                      _layout(shortest), f"{shortest['p50_s']:.3g}", f"{100 * shortest['communication_share']:.0f} %",
                      shortest["limit"], f"{shortest['memory_bytes_a_host'] / 2**30:.0f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def page(answers: dict[tuple[str, int], dict[str, Any]], calibrations: list[Path]) -> str:
    """The Markdown of paper.md."""
    first = next(iter(answers.values()))
    parts = ["# Predicted for hosts of 64 cores", "**Predicted, not measured**, by `bench/run cost --plots`: see [scaling.md](../scaling.md).",
             f"Calibrations: {', '.join(f'[{path.name}]({path.name})' for path in calibrations)}: {first['kernels']}, "
             f"{first['model']['dtype']}. Assumed: {'; '.join(first['assumed'])}.",
             "Layouts are hosts x ranks of a host x threads of a rank. The request is a rerank of 50 items of 150 tokens.",
             "![items per second](items.svg)", "![seconds of a rerank](p50.svg)"]
    for (name, bandwidth), answer in answers.items():
        parts += [f"## {name}, {bandwidth} Gbit/s", table(answer)]
    return "\n\n".join(parts) + "\n"


def _calibrations(flags: argparse.Namespace) -> list[Path]:
    """The calibrations, in the directory of the plots."""
    flags.plots.mkdir(parents=True, exist_ok=True)
    given = flags.calibration or ([] if any(flags.plots.glob("calibration-*.json"))
                                  else sorted(flags.work.glob(f"calibration-{flags.shape}-bf16-*.json")))
    for path in given:
        if path.parent.resolve() != flags.plots.resolve():
            shutil.copy(path, flags.plots / path.name)
    calibrations = [flags.plots / path.name for path in given] or sorted(flags.plots.glob("calibration-*.json"))
    if not calibrations:
        raise CostFailed("--plots needs --calibration FILE, or a run of bench/run cost before it")
    return calibrations


def draw(flags: argparse.Namespace) -> None:
    calibrations = _calibrations(flags)
    answers = _predictions(flags, calibrations)
    note = f"paper: hosts of {CORES} cores; predicted, not measured"
    for name, title, y_label, which, figure in (
            ("items", "Items per second of the layout with most", "items/s", "most_items", "items_per_s"),
            ("p50", "Seconds of a rerank of 50 x 150 tokens, of the layout with the shortest", "seconds", "shortest", "p50_s")):
        chart = LineChart(title, "hosts", y_label, SHOWN_HOSTS, _lines(answers, which, figure), note)
        (flags.plots / f"{name}.svg").write_text(svg(chart))
    (flags.plots / "paper.md").write_text(page(answers, calibrations))
