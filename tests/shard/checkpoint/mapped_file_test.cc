#include "shard/checkpoint/mapped_file.h"

#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "proto/base/error.h"
#include "tests/shard/checkpoint/model_files.h"

namespace scorecast::shard {
namespace {

using ::testing::HasSubstr;

std::string Text(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

std::string ErrorOf(const std::filesystem::path& path) {
  try {
    MappedFile::Open(path);
  } catch (const proto::StartupError& error) {
    EXPECT_THAT(error.what(), HasSubstr(path.string()));
    return error.what();
  }
  ADD_FAILURE() << "opened";
  return {};
}

TEST(MappedFileTest, MapsTheWholeFile) {
  const TempDir dir;
  dir.Write("a", "some bytes");
  dir.Write("empty", "");
  EXPECT_EQ(Text(MappedFile::Open(dir.path() / "a")), "some bytes");
  EXPECT_TRUE(MappedFile::Open(dir.path() / "empty").bytes().empty());
}

TEST(MappedFileTest, Moves) {
  const TempDir dir;
  dir.Write("a", "first");
  dir.Write("b", "second");
  MappedFile a = MappedFile::Open(dir.path() / "a");
  MappedFile moved = std::move(a);
  EXPECT_EQ(Text(moved), "first");
  moved = MappedFile::Open(dir.path() / "b");
  EXPECT_EQ(Text(moved), "second");
}

TEST(MappedFileTest, ReleasedBytesCanBeReadAgain) {
  const TempDir dir;
  const std::string content(100000, 'x');
  dir.Write("a", content);
  const MappedFile file = MappedFile::Open(dir.path() / "a");
  file.Release(file.bytes());
  file.Release(file.bytes().subspan(5000, 70000));
  file.Release(file.bytes().subspan(100000));
  EXPECT_EQ(Text(file), content);
}

TEST(MappedFileTest, OnlyRegularFilesAreMapped) {
  const TempDir dir;
  EXPECT_THAT(ErrorOf(dir.path() / "nothing"), HasSubstr("No such file"));
  EXPECT_THAT(ErrorOf(dir.path()), HasSubstr("not a regular file"));
  ASSERT_EQ(::mkfifo((dir.path() / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(ErrorOf(dir.path() / "pipe"), HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace scorecast::shard
