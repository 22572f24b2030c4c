"""Kernel sets that --kernel names, and environments that hold libraries to their instructions."""
from __future__ import annotations

import argparse

AUTO = "auto"
# Names in oneDNN, in PyTorch, and in MKL and FBGEMM, and the OpenBLAS core without wider instructions.
_LIMITS = {
    "generic": ("SSE41", "default", "SSE4_2", "SSE4_2", "Nehalem"),
    "avx2": ("AVX2", "avx2", "AVX2", "AVX2", "Haswell"),
    "avx2_vnni": ("AVX2_VNNI", "avx2", "AVX2", "AVX2", "Haswell"),
    "avx512": ("AVX512_CORE", "avx512", "AVX512", "AVX512", "SkylakeX"),
    "avx512_vnni": ("AVX512_CORE_VNNI", "avx512", "AVX512_E1", "AVX512_E1", "SkylakeX"),
}
_VARIABLES = ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY", "MKL_ENABLE_INSTRUCTIONS", "FBGEMM_ENABLE_INSTRUCTIONS",
              "OPENBLAS_CORETYPE")
NAMES = [AUTO, *_LIMITS, "avx512_bf16"]  # The last one is for the newest CPUs: libraries may use all that these have.


def add_kernel_flag(parser: argparse.ArgumentParser, names: list[str] = NAMES) -> None:
    parser.add_argument("--kernel", choices=names, default=AUTO, metavar="SET",
                        help=f"the kernel set, to whose instructions libraries are held, too: {', '.join(names)} (%(default)s)")


def environment(kernel: str) -> dict[str, str]:
    """Variables for processes that may use the instructions of the set only. Empty if there is no limit."""
    return dict(zip(_VARIABLES, _LIMITS.get(kernel, ())))
