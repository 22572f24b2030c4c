#include <cstdio>

#include <gtest/gtest.h>

#include "proto/mpi/communicator.h"
#include "proto/mpi/mpi_environment.h"

namespace {

/// Prints failures of ranks other than 0, which have no result printer.
class FailurePrinter : public testing::EmptyTestEventListener {
 public:
  explicit FailurePrinter(int rank) : rank_(rank) {}

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (result.failed()) {
      std::fprintf(stderr, "rank %d: %s:%d: %s\n", rank_, result.file_name(), result.line_number(),
                   result.message());
    }
  }

 private:
  int rank_;
};

}  // namespace

// Every rank runs every test. Rank 0 prints the results.
int main(int argc, char** argv) {
  const scorecast::proto::MpiEnvironment mpi;
  testing::InitGoogleTest(&argc, argv);
  const int rank = scorecast::proto::Communicator::World().rank();
  if (rank != 0) {
    testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailurePrinter(rank));
  }
  const int result = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::fprintf(stderr, "rank %d: the filter names no test\n", rank);
    return 1;
  }
  return result;
}
