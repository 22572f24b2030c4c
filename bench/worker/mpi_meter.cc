#include "bench/worker/mpi_meter.h"

#include <map>

#include <mpi.h>

#include "bench/worker/process_usage.h"

namespace scorecast::bench {
namespace {

MpiCost total;
double latency = 0;

/// When messages that MPI has received arrive, if they are still awaited. The key is the first of
/// their requests.
std::map<const MPI_Request*, double> arrivals;

void WaitUntil(double time) {
  while (MPI_Wtime() < time) {
    // MPI itself also waits by polling. A sleep would take longer than the latencies of interest.
  }
}

bool IsAlone(MPI_Comm comm) {
  int size = 1;
  PMPI_Comm_size(comm, &size);
  return size == 1;
}

bool IsRoot(MPI_Comm comm, int root) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank == root;
}

template <typename Call>
int Metered(double& seconds, bool receives, Call call) {
  const double cpu_begin = ThreadCpuSeconds();
  const double begin = MPI_Wtime();
  const int result = call();
  if (receives) {
    WaitUntil(MPI_Wtime() + latency);
  }
  seconds += MPI_Wtime() - begin;
  total.cpu_seconds += ThreadCpuSeconds() - cpu_begin;
  return result;
}

/// A call by which all ranks exchange data.
template <typename Call>
int Exchange(bool receives, Call call) {
  ++total.exchanges;
  return Metered(total.exchange_seconds, receives, call);
}

}  // namespace

MpiCost operator-(const MpiCost& a, const MpiCost& b) {
  return {.exchanges = a.exchanges - b.exchanges,
          .exchange_seconds = a.exchange_seconds - b.exchange_seconds,
          .broadcast_seconds = a.broadcast_seconds - b.broadcast_seconds,
          .cpu_seconds = a.cpu_seconds - b.cpu_seconds};
}

MpiCost MpiCostSoFar() { return total; }

void AddMpiLatency(double seconds) { latency = seconds; }

}  // namespace scorecast::bench

// These functions replace MPI's own, which are weak symbols. The PMPI functions do the work.

using scorecast::bench::arrivals;
using scorecast::bench::Exchange;
using scorecast::bench::IsAlone;
using scorecast::bench::IsRoot;
using scorecast::bench::latency;
using scorecast::bench::Metered;
using scorecast::bench::total;
using scorecast::bench::WaitUntil;

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  return Metered(total.broadcast_seconds, !IsRoot(comm, root),
                 [&] { return PMPI_Bcast(buffer, count, type, root, comm); });
}

int MPI_Gatherv(const void* mine, int count, MPI_Datatype type, void* all, const int* counts,
                const int* offsets, MPI_Datatype all_type, int root, MPI_Comm comm) {
  return Metered(total.broadcast_seconds, IsRoot(comm, root) && !IsAlone(comm), [&] {
    return PMPI_Gatherv(mine, count, type, all, counts, offsets, all_type, root, comm);
  });
}

int MPI_Allreduce(const void* mine, void* sum, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm) {
  return Exchange(!IsAlone(comm), [&] { return PMPI_Allreduce(mine, sum, count, type, op, comm); });
}

int MPI_Allgather(const void* mine, int count, MPI_Datatype type, void* all, int all_count,
                  MPI_Datatype all_type, MPI_Comm comm) {
  return Exchange(!IsAlone(comm), [&] {
    return PMPI_Allgather(mine, count, type, all, all_count, all_type, comm);
  });
}

int MPI_Allgatherv(const void* mine, int count, MPI_Datatype type, void* all, const int* counts,
                   const int* offsets, MPI_Datatype all_type, MPI_Comm comm) {
  return Exchange(!IsAlone(comm), [&] {
    return PMPI_Allgatherv(mine, count, type, all, counts, offsets, all_type, comm);
  });
}

int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  return Metered(total.exchange_seconds, false,
                 [&] { return PMPI_Isend(data, count, type, to, tag, comm, request); });
}

// Ends an exchange between hosts.
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
  if (const auto arrival = arrivals.extract(requests)) {
    return Exchange(false, [&] {
      WaitUntil(arrival.mapped());
      return MPI_SUCCESS;
    });
  }
  return Exchange(count > 0, [&] { return PMPI_Waitall(count, requests, statuses); });
}

// Lets an exchange between hosts make progress, and perhaps ends it. The latency begins when this
// rank notices that MPI is done, which is somewhat late.
int MPI_Testall(int count, MPI_Request* requests, int* are_done, MPI_Status* statuses) {
  return Metered(total.exchange_seconds, false, [&] {
    auto arrival = arrivals.find(requests);
    if (arrival == arrivals.end()) {
      const int result = PMPI_Testall(count, requests, are_done, statuses);
      if (*are_done == 0 || latency == 0) {
        total.exchanges += *are_done;
        return result;
      }
      arrival = arrivals.emplace(requests, MPI_Wtime() + latency).first;
    }
    *are_done = MPI_Wtime() >= arrival->second ? 1 : 0;
    if (*are_done != 0) {
      arrivals.erase(arrival);
      ++total.exchanges;
    }
    return MPI_SUCCESS;
  });
}
