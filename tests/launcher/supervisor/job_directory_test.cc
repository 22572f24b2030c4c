#include "launcher/supervisor/job_directory.h"

#include <csignal>
#include <filesystem>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace scorecast::launcher {
namespace job_directory_test {

TEST(SupervisorDirectory, IsPrivateAndRemovedWithWhatIsInIt) {
  std::filesystem::path job;
  {
    SupervisorDirectory directory;
    job = directory.MakeJobDirectory();
    EXPECT_NE(directory.MakeJobDirectory(), job);
    struct stat status {};
    ASSERT_EQ(stat(job.parent_path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
    const Descriptor socket = ListenAt(job / "socket");
    EXPECT_TRUE(std::filesystem::exists(job / "socket"));
  }
  EXPECT_FALSE(std::filesystem::exists(job.parent_path()));
}

TEST(SupervisorDirectory, OfAKilledSupervisorIsRemovedByTheNextOne) {
  // The child waits with a directory of its own until it is killed.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    SupervisorDirectory directory;
    const std::string path = directory.MakeJobDirectory();
    [[maybe_unused]] const ssize_t written = write(ends[1], path.data(), path.size());
    for (;;) {
      pause();
    }
  }
  char buffer[256];
  const ssize_t size = read(ends[0], buffer, sizeof(buffer));
  close(ends[0]);
  close(ends[1]);
  ASSERT_GT(size, 0);
  const std::filesystem::path job(std::string(buffer, static_cast<std::size_t>(size)));

  { SupervisorDirectory directory; }
  EXPECT_TRUE(std::filesystem::exists(job)) << "its supervisor still runs";
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(job));
  { SupervisorDirectory directory; }
  EXPECT_FALSE(std::filesystem::exists(job.parent_path()));
}

}  // namespace job_directory_test
}  // namespace scorecast::launcher
