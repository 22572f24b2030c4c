#include "proto/base/replace_file.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/reference/temp_directory.h"

namespace scorecast::proto {
namespace replace_file_test {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using ::testing::UnorderedElementsAre;

class ReplaceFileTest : public ::testing::Test {
 protected:
  std::filesystem::path Path() const { return directory_.path() / "file"; }

  static std::string Read(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      names.push_back(entry.path().filename());
    }
    return names;
  }

  const reference::TempDirectory directory_;
};

TEST_F(ReplaceFileTest, MakesAndReplacesAFile) {
  ReplaceFile(Path(), "a longer text");
  EXPECT_EQ(Read(Path()), "a longer text");
  ReplaceFile(Path(), "short");
  EXPECT_EQ(Read(Path()), "short");
  ReplaceFile(Path(), "");
  EXPECT_EQ(Read(Path()), "");
  EXPECT_THAT(Names(), UnorderedElementsAre("file"));
}

TEST_F(ReplaceFileTest, FollowsTheUmask) {
  const mode_t umask_before = umask(027);
  ReplaceFile(Path(), "text");
  umask(umask_before);
  EXPECT_EQ(std::filesystem::status(Path()).permissions(), std::filesystem::perms(0640));
}

TEST_F(ReplaceFileTest, AReaderOfTheOldFileKeepsIt) {
  ReplaceFile(Path(), "old");
  std::ifstream reader(Path());
  ReplaceFile(Path(), "new");
  std::string text;
  reader >> text;
  EXPECT_EQ(text, "old");
}

TEST_F(ReplaceFileTest, UsesWhatAKilledProcessLeft) {
  std::ofstream(Path().string() + ".new") << "half of a longer te";
  ReplaceFile(Path(), "text");
  EXPECT_EQ(Read(Path()), "text");
  EXPECT_THAT(Names(), UnorderedElementsAre("file"));
}

TEST_F(ReplaceFileTest, ReplacesTheFileThatALinkNames) {
  std::filesystem::create_directory(directory_.path() / "else");
  const std::filesystem::path real = directory_.path() / "else" / "real";
  ReplaceFile(real, "old");
  std::filesystem::create_symlink(real, Path());
  ReplaceFile(Path(), "new");
  EXPECT_TRUE(std::filesystem::is_symlink(Path()));
  EXPECT_EQ(Read(real), "new");
}

TEST_F(ReplaceFileTest, ANameWithoutADirectoryIsInTheCurrentOne) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(directory_.path());
  ReplaceFile("file", "text");
  std::filesystem::current_path(before);
  EXPECT_EQ(Read(Path()), "text");
}

TEST_F(ReplaceFileTest, FaultsAreOneLineAndLeaveTheOldFile) {
  EXPECT_THAT([] { ReplaceFile("/nonexistent/file", "text"); },
              ThrowsMessage<std::runtime_error>(
                  "cannot write /nonexistent/file: No such file or directory"));
  EXPECT_THAT([&] { ReplaceFile(directory_.path(), "text"); },
              ThrowsMessage<std::runtime_error>(HasSubstr("it is not a regular file")));
  ASSERT_EQ(mkfifo(Path().c_str(), 0600), 0);
  EXPECT_THAT([&] { ReplaceFile(Path(), "text"); },
              ThrowsMessage<std::runtime_error>(HasSubstr("it is not a regular file")));
  EXPECT_TRUE(std::filesystem::is_fifo(Path()));
}

TEST_F(ReplaceFileTest, AFullDiskLeavesTheOldFile) {
  ReplaceFile(Path(), "old");
  // A file that may not be larger fails in the same way as a full disk.
  const auto before = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit small = {1000, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_THAT([&] { ReplaceFile(Path(), std::string(2000, 'x')); },
              ThrowsMessage<std::runtime_error>(HasSubstr("File too large")));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::signal(SIGXFSZ, before);
  EXPECT_EQ(Read(Path()), "old");
  EXPECT_THAT(Names(), UnorderedElementsAre("file"));
}

TEST_F(ReplaceFileTest, ProcessesThatReplaceItTogetherOrAreKilledLeaveOneContentsWhole) {
  const auto is_whole = [](const std::string& text) {
    return !text.empty() && text.size() % 1000 == 0 &&
           text.find_first_not_of(text.front()) == std::string::npos;
  };
  ReplaceFile(Path(), std::string(1000, 'a'));
  std::vector<pid_t> writers;
  for (int writer = 1; writer <= 3; ++writer) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      for (;;) {
        try {
          ReplaceFile(Path(), std::string(static_cast<std::size_t>(1000 * writer),
                                          static_cast<char>('a' + writer)));
        } catch (...) {
          _exit(1);
        }
      }
    }
    writers.push_back(pid);
  }
  bool is_always_whole = true;
  for (int i = 0; i < 3000; ++i) {
    is_always_whole = is_always_whole && is_whole(Read(Path()));
  }
  for (const pid_t writer : writers) {
    kill(writer, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(writer, &status, 0), writer);
    EXPECT_TRUE(WIFSIGNALED(status)) << "a writer failed";
    is_always_whole = is_always_whole && is_whole(Read(Path()));
  }
  EXPECT_TRUE(is_always_whole);
  ReplaceFile(Path(), "after");
  EXPECT_EQ(Read(Path()), "after");
  EXPECT_THAT(Names(), UnorderedElementsAre("file"));
}

}  // namespace replace_file_test
}  // namespace scorecast::proto
