#include "shard/checkpoint/weight_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "proto/base/error.h"
#include "tests/shard/checkpoint/model_files.h"

namespace scorecast::shard {
namespace weight_file_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::string Read(const WeightFile& file, std::int64_t offset, std::size_t bytes) {
  std::string text(bytes, '?');
  file.Read(offset, std::as_writable_bytes(std::span(text)));
  return text;
}

std::string ErrorOf(const std::filesystem::path& path) {
  try {
    const WeightFile file(path);
  } catch (const proto::StartupError& error) {
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
    return error.what();
  }
  ADD_FAILURE() << "opened";
  return {};
}

template <typename Function>
std::string ChangeSeenBy(const Function& function) {
  try {
    function();
  } catch (const FileChanged& change) {
    return change.what();
  }
  return {};
}

/// A file that is at least a second old, so that every write gives it a new time of modification.
class ChangedFileTest : public ::testing::Test {
 protected:
  ChangedFileTest() {
    dir_.Write("a", "some bytes");
    const timespec times[] = {{1'000'000'000, 0}, {1'000'000'000, 0}};
    EXPECT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  }

  const TempDir dir_;
  const std::filesystem::path path_ = dir_.path() / "a";
};

TEST_F(ChangedFileTest, ReadsParts) {
  const WeightFile file(path_);
  EXPECT_EQ(file.name(), path_.string());
  EXPECT_EQ(file.size(), 10);
  EXPECT_EQ(Read(file, 0, 10), "some bytes");
  EXPECT_EQ(Read(file, 5, 3), "byt");
  EXPECT_EQ(Read(file, 10, 0), "");
  EXPECT_NO_THROW(file.CheckUnchanged());
}

TEST_F(ChangedFileTest, OverwrittenInPlace) {
  const WeightFile file(path_);
  std::fstream(path_, std::ios::in | std::ios::out) << "S";
  EXPECT_THAT(ChangeSeenBy([&] { file.CheckUnchanged(); }),
              AllOf(HasSubstr(path_.string()), HasSubstr("overwritten")));
}

TEST_F(ChangedFileTest, LongerOrShorter) {
  const WeightFile file(path_);
  for (const std::uintmax_t size : {11, 9}) {
    std::filesystem::resize_file(path_, size);
    EXPECT_NE(ChangeSeenBy([&] { file.CheckUnchanged(); }), "");
  }
}

TEST_F(ChangedFileTest, TruncatedBeforeARead) {
  const WeightFile file(path_);
  std::filesystem::resize_file(path_, 4);
  EXPECT_EQ(Read(file, 0, 4), "some");
  EXPECT_THAT(ChangeSeenBy([&] { Read(file, 2, 4); }),
              AllOf(HasSubstr(path_.string()), HasSubstr("truncated")));
}

// This is how a model's files are replaced.
TEST_F(ChangedFileTest, ARenamedOrDeletedFileStaysTheSame) {
  const WeightFile file(path_);
  dir_.Write("b", "others");
  std::filesystem::rename(dir_.path() / "b", path_);
  EXPECT_EQ(Read(file, 0, 10), "some bytes");
  EXPECT_NO_THROW(file.CheckUnchanged());
  std::filesystem::remove(path_);
  EXPECT_EQ(Read(file, 0, 10), "some bytes");
  EXPECT_NO_THROW(file.CheckUnchanged());
}

TEST(WeightFileTest, AnEmptyFile) {
  const TempDir dir;
  dir.Write("empty", "");
  EXPECT_EQ(WeightFile(dir.path() / "empty").size(), 0);
}

TEST(WeightFileTest, OnlyRegularFilesAreOpened) {
  const TempDir dir;
  EXPECT_THAT(ErrorOf(dir.path() / "nothing"), HasSubstr("No such file"));
  EXPECT_THAT(ErrorOf(dir.path()), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((dir.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf(dir.path() / "pipe"), HasSubstr("not a regular file"));
}

TEST(WeightFileDeathTest, PartsOutsideTheFileAreABrokenInvariant) {
  const TempDir dir;
  dir.Write("a", "some bytes");
  const WeightFile file(dir.path() / "a");
  EXPECT_DEATH(Read(file, 8, 3), "broken invariant");
  EXPECT_DEATH(Read(file, -1, 1), "broken invariant");
}

}  // namespace weight_file_test
}  // namespace scorecast::shard
