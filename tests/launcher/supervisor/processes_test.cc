#include "launcher/supervisor/processes.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace scorecast::launcher {
namespace processes_test {

/// A process with a name that is hard to read from /proc, and a child of its own.
class ProcessFamily : public ::testing::Test {
 protected:
  ProcessFamily() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe(ends.data()), 0);
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_NAME, "a) S 1 (b");
      const pid_t grandchild = fork();
      if (grandchild > 0) {
        [[maybe_unused]] const ssize_t written = write(ends[1], &grandchild, sizeof(grandchild));
      }
      for (;;) {
        pause();
      }
    }
    EXPECT_EQ(read(ends[0], &grandchild_, sizeof(grandchild_)), ssize_t{sizeof(grandchild_)});
    close(ends[0]);
    close(ends[1]);
  }
  ~ProcessFamily() override {
    kill(grandchild_, SIGKILL);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }

  pid_t child_ = 0;
  pid_t grandchild_ = 0;
};

TEST_F(ProcessFamily, HasNamesParentsAndDescendants) {
  const std::vector<HostProcess> family = FamilyOf(child_);
  ASSERT_EQ(family.size(), 2U);
  EXPECT_EQ(family[0].pid, child_);
  EXPECT_EQ(family[0].parent, getpid());
  EXPECT_EQ(family[0].name, "a) S 1 (b");
  EXPECT_EQ(family[1].pid, grandchild_);
  EXPECT_EQ(family[1].parent, child_);

  const std::vector<HostProcess> children = ChildrenOf(getpid());
  EXPECT_EQ(std::ranges::count(children, child_, &HostProcess::pid), 1);
  EXPECT_EQ(std::ranges::count(children, grandchild_, &HostProcess::pid), 0);
}

TEST_F(ProcessFamily, KeepsAProcessThatHasEndedUntilItIsCollected) {
  kill(grandchild_, SIGKILL);
  kill(child_, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOWAIT), 0);
  const std::vector<HostProcess> family = FamilyOf(child_);
  ASSERT_EQ(family.size(), 1U);
  EXPECT_EQ(family[0].ToText(), std::to_string(child_) + " (a) S 1 (b, state Z)");
}

TEST(WaitForCpu, GrowsWhileAnotherProcessHasTheCpu) {
  const auto before = WaitForCpu(getpid());
  if (!before) {
    GTEST_SKIP() << "the kernel does not count it";
  }
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  const pid_t rival = fork();
  if (rival == 0) {
    for (std::atomic<int> spins = 0;; ++spins) {
    }
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (*WaitForCpu(getpid()) <= *before + std::chrono::milliseconds(1) &&
         std::chrono::steady_clock::now() < deadline) {
  }
  EXPECT_GT(*WaitForCpu(getpid()), *before + std::chrono::milliseconds(1));
  kill(rival, SIGKILL);
  waitpid(rival, nullptr, 0);
  sched_setaffinity(0, sizeof(allowed), &allowed);
}

TEST(WaitForCpu, OfNoProcessIsNothing) { EXPECT_FALSE(WaitForCpu(-1)); }

}  // namespace processes_test
}  // namespace scorecast::launcher
