#include "coordinator/transports/batch/output_lock.h"

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "proto/base/error.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace output_lock_test {

using ::testing::HasSubstr;

/// Empty if the output can be locked.
std::string LockFault(const std::filesystem::path& output) {
  try {
    const OutputLock lock(output);
    return "";
  } catch (const proto::StartupError& fault) {
    return fault.what();
  }
}

TEST(OutputLock, KeepsOthersAwayUntilItEnds) {
  const reference::TempDirectory dir;
  const auto output = dir.path() / "out.jsonl";
  std::optional<OutputLock> lock(std::in_place, output);
  EXPECT_THAT(LockFault(output), HasSubstr("out.jsonl is being written by process " +
                                           std::to_string(getpid()) + " on host "));
  EXPECT_EQ(LockFault(dir.path() / "other.jsonl"), "");
  lock.reset();
  EXPECT_EQ(LockFault(output), "");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path())) << "the file goes with the lock";
}

/// Empty if the output could be locked.
std::string CheckFreeFault(const std::filesystem::path& output) {
  try {
    OutputLock::CheckFree(output);
    return "";
  } catch (const proto::StartupError& fault) {
    return fault.what();
  }
}

TEST(OutputLock, CanBeAskedForWithoutMakingAFile) {
  const reference::TempDirectory dir;
  const auto output = dir.path() / "out.jsonl";
  EXPECT_EQ(CheckFreeFault(output), "");
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
  {
    const OutputLock lock(output);
    EXPECT_EQ(CheckFreeFault(output), LockFault(output));
    EXPECT_THAT(CheckFreeFault(output), HasSubstr("out.jsonl is being written by process "));
  }
  EXPECT_EQ(CheckFreeFault("/nowhere/out.jsonl"), LockFault("/nowhere/out.jsonl"));
}

TEST(OutputLock, ADeadHoldersLockIsFree) {
  const reference::TempDirectory dir;
  const auto output = dir.path() / "out.jsonl";
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t holder = fork();
  if (holder == 0) {
    const OutputLock lock(output);
    static_cast<void>(write(ready[1], "x", 1));
    for (;;) {
      pause();
    }
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  EXPECT_THAT(LockFault(output), HasSubstr("process " + std::to_string(holder)));
  kill(holder, SIGKILL);
  waitpid(holder, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(output.string() + ".lock"));
  EXPECT_EQ(LockFault(output), "");
  close(ready[0]);
  close(ready[1]);
}

TEST(OutputLock, ADirectoryThatCannotBeWrittenIsAFault) {
  EXPECT_THAT(LockFault("/nowhere/out.jsonl"), HasSubstr("cannot lock /nowhere/out.jsonl.lock"));
}

}  // namespace output_lock_test
}  // namespace scorecast::coordinator
