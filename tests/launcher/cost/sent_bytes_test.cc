// The bytes that the engine's ranks send to other hosts are those that the cost model predicts.

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "launcher/cost/wire.h"
#include "proto/mpi/communicator.h"
#include "tests/mpi/engine_harness.h"
#include "tests/mpi/random_sequence.h"

namespace {

int sent_bytes = 0;

}  // namespace

// Replaces MPI's own function, which is a weak symbol.
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
  int size = 0;
  PMPI_Type_size(type, &size);
  sent_bytes += count * size;
  return PMPI_Isend(data, count, type, to, tag, comm, request);
}

namespace scorecast::testing {
namespace sent_bytes_test {

using shard::Precision;

class SentBytes : public ::testing::TestWithParam<Precision> {};

TEST_P(SentBytes, ArePredicted) {
  const int ranks = proto::Communicator::World().size();
  const proto::PackedSequence sequence =
      ItemsSequence({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {{12, 13}, {14, 15, 16}, {17}}, {3, 4});
  for (const int ranks_a_host : {1, 2}) {
    Engine engine(Family("qwen3"), {.precision = GetParam(), .ranks_a_host = ranks_a_host});
    sent_bytes = 0;
    engine.RunTogether({sequence});
    int all = 0;
    for (const int bytes : proto::Communicator::World().AllGather(sent_bytes)) {
      all += bytes;
    }
    const launcher::Layout layout{.hosts = ranks / ranks_a_host, .ranks_a_host = ranks_a_host};
    const launcher::Wire wire = launcher::WireOf(
        engine.config(), GetParam(), layout,
        {.rows = sequence.rows(), .reads = static_cast<std::int64_t>(sequence.reads.size())});
    EXPECT_DOUBLE_EQ(all, wire.host_bytes * layout.hosts) << ranks_a_host << " ranks a host";
  }
}

INSTANTIATE_TEST_SUITE_P(Of, SentBytes,
                         ::testing::Values(Precision::kFloat32, Precision::kBfloat16,
                                           Precision::kInt8),
                         [](const auto& test) { return std::string(shard::Name(test.param)); });

}  // namespace sent_bytes_test
}  // namespace scorecast::testing
