#include "coordinator/access/file_watch.h"

#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace file_watch_test {

TEST(FileMarks, DifferIfAFileHasChanged) {
  const reference::TempDirectory directory;
  const auto path = [&](const std::string& name) { return (directory.path() / name).string(); };
  const std::array<std::string, 3> files = {path("a"), "", path("b")};
  std::string last = FileMarks(files);
  const auto changes = [&] {
    const std::string marks = FileMarks(files);
    const bool differ = marks != last;
    last = marks;
    return differ;
  };
  EXPECT_FALSE(changes());
  std::ofstream(files[0]) << "one";
  EXPECT_TRUE(changes());
  EXPECT_FALSE(changes());
  std::ofstream(files[2]) << "longer";
  EXPECT_TRUE(changes());
  std::ofstream(path("other")) << "one";
  std::filesystem::last_write_time(path("other"), std::filesystem::last_write_time(files[0]));
  std::filesystem::rename(path("other"), files[0]);
  EXPECT_TRUE(changes()) << "another file of the same size and time";
  // The kernel's time of a change may have steps of some milliseconds.
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  std::filesystem::permissions(files[0], std::filesystem::perms::owner_read);
  EXPECT_TRUE(changes());
  std::filesystem::remove(files[2]);
  EXPECT_TRUE(changes());
}

TEST(FileWatch, LetsAllLookAgainAndAgain) {
  std::atomic<int> first = 0;
  std::atomic<int> second = 0;
  {
    const FileWatch watch({[&] { ++first; }, [&] { ++second; }}, std::chrono::milliseconds(1));
    while (first < 3 || second < 3) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  const int ended = first;
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(first, ended);
  // An interval that has not passed does not delay the end.
  const FileWatch idle({[] {}}, std::chrono::hours(1));
}

}  // namespace file_watch_test
}  // namespace scorecast::coordinator
