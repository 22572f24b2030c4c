#include "proto/mpi/mpi_environment.h"

#include <cstdio>
#include <cstdlib>

#include <mpi.h>

#include "proto/base/check.h"

namespace scorecast::proto {
namespace {

int world_rank = 0;

void PrintAndEndJob(const char* message) {
  std::fprintf(stderr, "scorecast: rank %d: %s\n", world_rank, message);
  // Not 0 modulo 256, which mpirun would report as success.
  MPI_Abort(MPI_COMM_WORLD, 70);
}

bool StartedByLauncher() {
  return std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr || std::getenv("PMIX_RANK") != nullptr ||
         std::getenv("PMI_RANK") != nullptr;
}

}  // namespace

MpiEnvironment::MpiEnvironment() {
  if (!StartedByLauncher()) {
    // A world of one needs no daemon, but Open MPI would fork one that lives as long as the
    // process.
    setenv("OMPI_MCA_ess_singleton_isolated", "1", /*overwrite=*/0);
    // It needs no session directory either. All such worlds of a user would share one, and each
    // removes it at its end, so another world that is just starting would fail.
    setenv("OMPI_MCA_orte_create_session_dirs", "0", /*overwrite=*/0);
  }
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  SetCheckFailureHandler(&PrintAndEndJob);
  Check(provided >= MPI_THREAD_FUNNELED, "the MPI library offers MPI_THREAD_FUNNELED");
}

MpiEnvironment::~MpiEnvironment() { MPI_Finalize(); }

}  // namespace scorecast::proto
