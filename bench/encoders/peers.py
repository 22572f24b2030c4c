"""Other engines: which there are, their models, and their workers."""
from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench import kernel_sets
from bench.encoders.shapes import Shape
from bench.progress import progress
from bench.worker_process import WorkerProcess

# What a tool needs to compute, and what it needs besides to write its model.
_PACKAGES = {"torch": ("torch", "transformers"), "onnxruntime": ("onnxruntime", "onnx"), "openvino": ("openvino",)}
_TO_CONVERT = {"torch": (), "onnxruntime": ("torch", "transformers", "onnxscript"),
               "openvino": ("torch", "transformers", "onnxscript", "nncf")}
DEFAULT = list(_PACKAGES)
_DTYPES = {"torch": ("f32", "bf16", "int8"), "onnxruntime": ("f32", "int8"), "openvino": ("f32", "bf16", "int8")}
_BF16_FLAGS = {"avx512_bf16", "amx_bf16"}


class NotRun(Exception):
    """Why an engine does not run, in one line."""


def _cpu_flags() -> set[str]:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("flags"):
            return set(line.split(":", 1)[1].split())
    return set()


def fault_of(tool: str, dtype: str, kernel: str, cpu_flags: set[str]) -> str | None:
    """Why a tool cannot be compared with scorecast in a dtype."""
    if dtype not in _DTYPES[tool]:
        return f"computes no {dtype} on a CPU"
    if dtype == "bf16" and (kernel not in (kernel_sets.AUTO, "avx512_bf16") or not _BF16_FLAGS & cpu_flags):
        return "has no fast products of bf16 without instructions for it"
    missing = [package for package in _PACKAGES[tool] if not find_spec(package)]
    return f"{' and '.join(missing)} not installed: see bench/encoders/requirements.txt" if missing else None


@dataclass
class Peers:
    """Options that all engines share."""

    shape: Shape
    kernel: str
    threads: int
    work: Path  # Directory of converted models and of logs.

    def start(self, tool: str, dtype: str, model: Path, embeds: bool) -> WorkerProcess:
        """Converts the model if necessary, and starts the worker of an engine. Raises NotRun, and WorkerFailed later."""
        name = f"{tool}:{dtype}"
        fault = fault_of(tool, dtype, self.kernel, _cpu_flags())
        if fault:
            raise NotRun(f"{name}: {fault}")
        command = [sys.executable, "-m", f"bench.encoders.{tool}_worker", "--shape", self.shape.name, "--dtype", dtype,
                   "--threads", str(self.threads), "--model", str(self._converted(tool, dtype, model, embeds))]
        log = self.work / "logs" / f"{self.shape.name}{'-embed' if embeds else ''}-{name}.txt"
        return WorkerProcess(name, command, log, self._environment())

    def _environment(self) -> dict[str, str]:
        environment = os.environ | {"OMP_NUM_THREADS": str(self.threads), "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
        return environment | kernel_sets.environment(self.kernel)

    def _converted(self, tool: str, dtype: str, model: Path, embeds: bool) -> Path:
        """The model in the tool's own format."""
        if tool == "torch":
            return model
        directory = self.work / model.name
        plain = self._convert(tool, ["export", model, directory / "float.onnx"], directory / "float.onnx")
        if dtype != "int8":  # The precision is an option of the run.
            return plain
        output = directory / ("int8.onnx" if tool == "onnxruntime" else "int8.xml")
        return self._convert(tool, ["quantize", plain, output, "--shape", self.shape.name, *(["--embeds"] if embeds else [])], output)

    def _convert(self, tool: str, arguments: list[object], output: Path) -> Path:
        done = output.with_name(output.name + ".done")  # Written last, so that the output is complete if this exists.
        if done.exists():
            return output
        missing = [package for package in _TO_CONVERT[tool] if not find_spec(package)]
        if missing:
            raise NotRun(f"{tool}: its model is written with {' and '.join(missing)}, not installed")
        progress(f"encoders: writing {output}")
        output.parent.mkdir(parents=True, exist_ok=True)
        log = self.work / "logs" / f"{output.parent.name}-{output.name}.txt"
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("w") as file:
            code = subprocess.call([sys.executable, "-m", "bench.encoders.convert", *map(str, arguments)], stdout=file,
                                   stderr=subprocess.STDOUT)
        if code != 0:
            raise NotRun(f"{tool}: {output} was not written: see {log}")
        done.touch()
        return output
