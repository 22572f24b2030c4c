"""Command lines of mpirun for workers on this host or on several hosts."""
from __future__ import annotations

import os
from pathlib import Path

from bench.network.hosts import SUBNET, Hosts

ENTER_HOST = Path(__file__).with_name("enter_host").resolve()


def environment() -> dict[str, str]:
    """That of mpirun, which otherwise refuses to run as root."""
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} if os.geteuid() == 0 else {}
    return dict(os.environ) | as_root


def mpirun(ranks: int, session_dir: Path) -> list[str]:
    # With at most two ranks, Open MPI would bind each to a core, and on two hosts both to the same core.
    return ["mpirun", "--bind-to", "none", "--mca", "orte_tmpdir_base", str(session_dir),
            "--mca", "odls_base_sigkill_timeout", "0", "-n", str(ranks)]


def on_this_host(ranks: int, session_dir: Path, shared_dir: Path, worker: list[str]) -> list[str]:
    """`shared_dir` must be in memory. It takes the ranks' shared files, which ranks may leave behind if they are killed."""
    return [*mpirun(ranks, session_dir), "--mca", "btl_vader_backing_directory", str(shared_dir),
            "--mca", "osc_sm_backing_directory", str(shared_dir), *worker]


def on_hosts(hosts: Hosts, ranks_a_host: int, session_dir: Path, worker: list[str]) -> list[str]:
    """Equally many ranks on each host. mpirun itself runs on the first."""
    network = f"{SUBNET}.0/24"
    ranks = len(hosts.hosts) * ranks_a_host
    return hosts.hosts[0].command(
        *mpirun(ranks, session_dir), "--host", ",".join(f"{host.address}:{ranks_a_host}" for host in hosts.hosts),
        # Open MPI does not see that all hosts have the same cores.
        "--mca", "mpi_yield_when_idle", "1" if ranks > 2 else "0",
        "--mca", "plm", "rsh", "--mca", "plm_rsh_no_tree_spawn", "1", "--mca", "plm_rsh_agent",
        f"{ENTER_HOST} {','.join(f'{host.address}={host.pid}' for host in hosts.hosts)}",
        "--mca", "oob_tcp_if_include", network, "--mca", "btl_tcp_if_include", network, "--mca", "btl", "vader,tcp,self",
        *worker)
