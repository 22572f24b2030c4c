#include "proto/mpi/mpi_environment.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <mpi.h>

#include "proto/base/check.h"

namespace scorecast::proto {
namespace {

int world_rank = 0;

void PrintAndEndJob(const char* message) {
  std::fprintf(stderr, "scorecast: rank %d: %s\n", world_rank, message);
  // The code is not 0 modulo 256, which mpirun would report as success.
  MPI_Abort(MPI_COMM_WORLD, 70);
}

bool IsSet(const char* variable) { return std::getenv(variable) != nullptr; }

bool StartedByLauncher() {
  return IsSet("OMPI_COMM_WORLD_SIZE") || IsSet("PMIX_RANK") || IsSet("PMI_RANK");
}

/// Whether the launcher's variables say that all ranks of the job run on this host.
bool AllRanksAreHere() {
  if (!StartedByLauncher()) {
    return true;
  }
  if (const char* size = std::getenv("OMPI_COMM_WORLD_SIZE")) {  // mpirun
    const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    return here != nullptr && std::strcmp(here, size) == 0;
  }
  const char* hosts = std::getenv("SLURM_STEP_NUM_NODES");  // srun
  // Each part of a heterogeneous job counts only its own hosts.
  return hosts != nullptr && std::strcmp(hosts, "1") == 0 && !IsSet("SLURM_HET_SIZE");
}

/// Lets Open MPI use shared memory only. Otherwise every rank would listen on a TCP port, on all
/// addresses, although no other rank connects to it, and any program that connects and sends one
/// byte would stop the rank.
void OpenNoPorts() {
  if (!IsSet("OMPI_MCA_pml") && !IsSet("OMPI_MCA_btl")) {  // A user may have chosen otherwise.
    setenv("OMPI_MCA_pml", "ob1", /*overwrite=*/0);
    setenv("OMPI_MCA_btl", "self,vader", /*overwrite=*/0);
  }
}

}  // namespace

MpiEnvironment::MpiEnvironment() {
  if (!StartedByLauncher()) {
    // A world of one rank needs no daemon, but Open MPI would fork one that lives as long as the
    // process.
    setenv("OMPI_MCA_ess_singleton_isolated", "1", /*overwrite=*/0);
    // It needs no session directory either. All such worlds of a user would share one directory.
    // Each removes it at its end, so that another world which is just starting would fail.
    setenv("OMPI_MCA_orte_create_session_dirs", "0", /*overwrite=*/0);
  }
  if (AllRanksAreHere()) {
    OpenNoPorts();
  }
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  SetCheckFailureHandler(&PrintAndEndJob);
  Check(provided >= MPI_THREAD_FUNNELED, "the MPI library offers MPI_THREAD_FUNNELED");
}

MpiEnvironment::~MpiEnvironment() {
  // If one rank ends with a code such as 3, srun --kill-on-bad-exit sends SIGTERM to the others.
  // All ranks end anyway, because MPI_Finalize waits for all of them, but a rank killed by the
  // signal would change the job's exit code.
  std::signal(SIGTERM, SIG_IGN);
  MPI_Finalize();
}

std::string MpiLibrary() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(text, &length);
  const std::string all(text, static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

}  // namespace scorecast::proto
