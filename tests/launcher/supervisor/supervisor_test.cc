#include "launcher/supervisor/supervisor.h"

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace scorecast::launcher {
namespace supervisor_test {

int ExitCodeOfAFailedStart() {
  return Supervisor({"sh", "-c", "exit 7"}, RestartLimits(), {}).Run();
}

TEST(Supervisor, NoticesTheEndOfAJobAlthoughItsParentIgnoredSigchld) {
  std::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(ExitCodeOfAFailedStart(), 7);
  std::signal(SIGCHLD, SIG_DFL);
}

TEST(Supervisor, LeavesChildrenAloneThatItHadBefore) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (;;) {
      pause();
    }
  }
  EXPECT_EQ(ExitCodeOfAFailedStart(), 7);
  EXPECT_EQ(waitpid(child, nullptr, WNOHANG), 0) << "still runs";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace supervisor_test
}  // namespace scorecast::launcher
