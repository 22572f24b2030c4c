"""The engines: their names, models and workers."""
from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from bench import kernel_sets
from bench.progress import progress
from bench.worker_process import WorkerProcess, write_random_model

# Engines are compared within a dtype. llama.cpp's int8 is Q8_0, PyTorch's is dynamic quantization, and OpenVINO's is
# post-training quantization; int8-weights has activations that are not quantized.
ALL = [f"{tool}:{dtype}" for tool in ("scorecast", "openvino", "llama.cpp", "torch") for dtype in ("f32", "bf16", "int8")]
ALL += ["openvino:int8-weights"]
# Without instructions for bf16, OpenVINO computes it as f32, and PyTorch without a library, many times slower than f32.
DEFAULT = {
    "auto": [name for name in ALL if not name.endswith(":f32") or name.startswith("scorecast")],
    "avx2": [name for name in ALL if name not in ("openvino:bf16", "torch:bf16")],
}
REFERENCE = "torch:f32"


@dataclass
class Bench:
    """Options that all engines share."""

    scorecast: Path
    scorecast_worker: Path
    shape: str
    kernel: str  # A key of DEFAULT.
    models: Path  # Directory of the bench's random models.
    work: Path  # Directory for converted models and logs.
    threads: int

    @property
    def model(self) -> Path:
        return self.models / self.shape

    def write_model(self) -> None:
        progress(f"peers: the random model {self.shape}")
        write_random_model(self.scorecast_worker, self.models, self.shape)

    def start(self, name: str, *flags: str) -> WorkerProcess:
        """Converts the model if necessary, and starts the engine's worker."""
        tool, dtype = name.split(":")
        command = [*self._command(tool, dtype), *flags]
        return WorkerProcess(name, command, self.work / "logs" / f"{name}.txt", self.environment(tool))

    def environment(self, tool: str) -> dict[str, str]:
        environment = os.environ | {"OMP_NUM_THREADS": str(self.threads), "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1"}
        environment |= kernel_sets.environment(self.kernel)
        if tool == "llama.cpp" and self.kernel != kernel_sets.AUTO:
            environment["PYTHONPATH"] = str(self._llama_packages())
        return environment

    def check(self, names: list[str]) -> None:
        """Raises EnvironmentIncomplete if a build is missing that one of these engines needs."""
        if self.kernel != kernel_sets.AUTO and any(name.startswith("llama.cpp:") for name in names):
            self._llama_packages()

    def _llama_packages(self) -> Path:
        """The packages of a build for the kernel set. Without them, Python would take the build for this CPU."""
        packages = Path(sys.prefix) / self.kernel
        if not (packages / "llama_cpp").is_dir():
            raise EnvironmentIncomplete(f"llama.cpp was not built for {self.kernel}: there is no {packages}/llama_cpp, "
                                        "which bench/peers/make_environment makes")
        return packages

    def _command(self, tool: str, dtype: str) -> list[str]:
        if tool == "scorecast":
            return [str(self.scorecast_worker), "--models", str(self.models), "--shape", self.shape,
                    "--dtype", dtype, "--kernel", self.kernel, "--threads", str(self.threads)]
        worker = {"torch": "torch_worker", "openvino": "openvino_worker", "llama.cpp": "llama_worker"}[tool]
        return [sys.executable, "-m", f"bench.peers.{worker}", "--model", str(self._converted(tool, dtype)),
                "--config", str(self.model), "--dtype", dtype, "--threads", str(self.threads)]

    def _converted(self, tool: str, dtype: str) -> Path:
        """The model in the tool's own format. Made if it does not exist."""
        if tool == "torch":
            return self.model
        if tool == "openvino":
            # f32 and bf16 share a file, because the precision is an option of the run.
            kind = "float" if dtype in ("f32", "bf16") else dtype
            return self._convert("openvino_model", ["--type", kind], self.work / self.shape / f"{kind}.xml")
        kind = {"f32": "F32", "bf16": "BF16", "int8": "Q8_0"}[dtype]
        return self._convert("gguf_model", ["--type", kind], self.work / self.shape / f"{kind}.gguf")

    def _convert(self, module: str, options: list[str], output: Path) -> Path:
        done = output.with_name(output.name + ".done")  # Written last, so that the output is complete if this exists.
        if not done.exists():
            progress(f"peers: writing {output}")
            output.parent.mkdir(parents=True, exist_ok=True)
            log = self.work / "logs" / f"{output.name}.txt"
            log.parent.mkdir(parents=True, exist_ok=True)
            with log.open("w") as file:
                code = subprocess.call([sys.executable, "-m", f"bench.peers.{module}", self.model, output, *options],
                                       stdout=file, stderr=subprocess.STDOUT)
            if code != 0:
                raise ConversionFailed(f"{output} was not written: see {log}")
            done.touch()
        return output


class ConversionFailed(Exception):
    """The message names the output and its log, in one line."""


class EnvironmentIncomplete(Exception):
    """The message names what is missing, in one line."""
