#include "coordinator/transports/batch/files/record_file.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "coordinator/transports/batch/files/input_file.h"
#include "proto/base/digest.h"
#include "proto/base/error.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace record_file_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string BytesOf(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> LinesOf(const std::filesystem::path& path) {
  InputFile file(path, 1 << 30);
  std::vector<std::string> lines;
  std::string line;
  while (file.Next(line) == InputFile::Result::kLine) {
    lines.push_back(line);
  }
  EXPECT_EQ(file.failure(), "");
  return lines;
}

/// A file of each kind.
class RecordFiles : public ::testing::TestWithParam<const char*> {
 protected:
  const reference::TempDirectory directory_;
  const std::filesystem::path path_ = directory_.path() / GetParam();
};

INSTANTIATE_TEST_SUITE_P(Kinds, RecordFiles, ::testing::Values("plain", "gzip.gz", "zstd.zst"),
                         [](const auto& kind) {
                           return std::filesystem::path(kind.param).stem().string();
                         });

TEST_P(RecordFiles, CanBeCutAfterAnyFlushAndAppendedTo) {
  std::vector<std::int64_t> sizes = {0};
  {
    RecordFile file(path_);
    file.BeginAt(0);
    for (int i = 0; i < 20; ++i) {
      file.Write("record " + std::to_string(i));
      EXPECT_GT(file.unflushed_bytes(), 0);
      file.Flush();
      EXPECT_EQ(file.unflushed_bytes(), 0);
      EXPECT_EQ(file.failure(), "");
      EXPECT_EQ(file.size(), static_cast<std::int64_t>(std::filesystem::file_size(path_)));
      EXPECT_GT(file.size(), sizes.back());
      EXPECT_EQ(file.digest(), proto::DigestOf(BytesOf(path_)));
      sizes.push_back(file.size());
      file.Flush();
      EXPECT_EQ(file.size(), sizes.back()) << "nothing is written without a record";
    }
  }
  const std::string all = BytesOf(path_);
  for (const std::size_t kept : {20u, 19u, 7u, 1u, 0u}) {
    std::ofstream(path_, std::ios::app) << "half a record";
    RecordFile file(path_);
    EXPECT_EQ(file.present_bytes(), static_cast<std::int64_t>(std::filesystem::file_size(path_)));
    file.BeginAt(sizes[kept]);
    EXPECT_EQ(BytesOf(path_), all.substr(0, static_cast<std::size_t>(sizes[kept])));
    EXPECT_EQ(file.size(), sizes[kept]);
    file.Write("another");
    file.Write("last");
    file.Finish();
    EXPECT_EQ(file.size(), static_cast<std::int64_t>(std::filesystem::file_size(path_)));
    const std::vector<std::string> lines = LinesOf(path_);
    ASSERT_EQ(lines.size(), kept + 2);
    for (std::size_t i = 0; i < kept; ++i) {
      EXPECT_EQ(lines[i], "record " + std::to_string(i));
    }
    EXPECT_EQ(lines[kept], "another");
    EXPECT_EQ(lines[kept + 1], "last");
  }
}

TEST_P(RecordFiles, KeepsItsBytesUntilItBegins) {
  std::ofstream(path_) << "before";
  RecordFile file(path_);
  EXPECT_EQ(BytesOf(path_), "before");
  EXPECT_EQ(file.present_bytes(), 6);
  file.BeginAt(0);
  EXPECT_EQ(BytesOf(path_), "");
}

TEST_P(RecordFiles, IsNeverMadeLonger) {
  std::ofstream(path_) << "before";
  RecordFile file(path_);
  try {
    file.BeginAt(7);
    ADD_FAILURE() << "the file has only 6 bytes";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("has 6 bytes, fewer than the 7 "));
  }
  EXPECT_EQ(BytesOf(path_), "before");
}

TEST_P(RecordFiles, ARecordMayComeInParts) {
  RecordFile file(path_);
  file.BeginAt(0);
  file.WritePart("a");
  file.WritePart("bc");
  EXPECT_EQ(file.unflushed_bytes(), 3);
  file.EndRecord();
  file.Write("d");
  file.Finish();
  EXPECT_THAT(LinesOf(path_), ElementsAre("abc", "d"));
}

TEST_P(RecordFiles, HoldsLittleWhateverIsWritten) {
  RecordFile file(path_);
  file.BeginAt(0);
  std::string record(100'000, ' ');
  unsigned state = 1;
  for (int i = 0; i < 50; ++i) {
    for (char& c : record) {
      state = state * 1'664'525 + 1'013'904'223;
      c = static_cast<char>('!' + (state >> 24) % 90);
    }
    file.Write(record);
  }
  EXPECT_EQ(file.size(), 0) << "nothing was flushed";
  EXPECT_EQ(file.unflushed_bytes(), 50 * 100'001);
  const auto on_disk = std::filesystem::file_size(path_);
  EXPECT_GT(on_disk, 1'000'000u) << "bytes are written before they are flushed";
  file.Finish();
  EXPECT_EQ(LinesOf(path_).size(), 50u);
  EXPECT_EQ(file.digest(), proto::DigestOf(BytesOf(path_)));
}

TEST_P(RecordFiles, WithoutRecordsIsAValidFile) {
  {
    RecordFile file(path_);
    file.BeginAt(0);
    file.Finish();
    EXPECT_EQ(file.size(), static_cast<std::int64_t>(std::filesystem::file_size(path_)));
    EXPECT_EQ(file.size() > 0, file.is_compressed());
  }
  EXPECT_TRUE(LinesOf(path_).empty());
  RecordFile again(path_);
  const std::int64_t size = *again.present_bytes();
  again.BeginAt(size);
  again.Write("a");
  again.Finish();
  EXPECT_THAT(LinesOf(path_), ElementsAre("a"));
}

TEST_P(RecordFiles, TheirCommandsReadThem) {
  {
    RecordFile file(path_);
    file.BeginAt(0);
    file.Write("a");
    file.Flush();
    file.Write("b");
    file.Finish();
  }
  const std::string command = path_.extension() == ".gz"    ? "gzip -dc "
                              : path_.extension() == ".zst" ? "zstd -qdc "
                                                            : "cat ";
  if (path_.extension() == ".zst" && std::system("command -v zstd > /dev/null") != 0) {
    GTEST_SKIP() << "zstd is not installed";
  }
  FILE* pipe = popen((command + path_.string()).c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::array<char, 100> text{};
  const std::size_t bytes = std::fread(text.data(), 1, text.size(), pipe);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(std::string(text.data(), bytes), "a\nb\n");
}

/// A disk with little room.
class SmallDisk : public ByteSink {
 public:
  SmallDisk(std::size_t room, std::string& bytes) : room_(room), bytes_(bytes) {}

  std::string Write(std::string_view bytes) override {
    const std::size_t fit = std::min(bytes.size(), room_ - bytes_.size());
    bytes_ += bytes.substr(0, fit);
    return fit < bytes.size() ? "No space left on device" : "";
  }
  std::optional<std::int64_t> size() const override {
    return static_cast<std::int64_t>(bytes_.size());
  }
  std::string CutTo(std::int64_t size) override {
    bytes_.resize(static_cast<std::size_t>(size));
    return "";
  }

 private:
  const std::size_t room_;
  std::string& bytes_;
};

TEST(RecordFile, AFailureLeavesWhatWasFlushed) {
  for (const char* name : {"out", "out.gz", "out.zst"}) {
    std::string bytes;
    RecordFile file(std::make_unique<SmallDisk>(50, bytes), name);
    file.BeginAt(0);
    file.Write("a");
    file.Flush();
    const std::string flushed = bytes;
    EXPECT_EQ(file.size(), static_cast<std::int64_t>(flushed.size()));
    file.Write(
        "0123456789 what is long enough to be too much even if it is compressed, 9876543210");
    file.Flush();
    EXPECT_EQ(file.failure(), std::string("cannot write ") + name + ": No space left on device");
    EXPECT_EQ(bytes, flushed);
    file.Write("b");
    file.Finish();
    EXPECT_EQ(bytes, flushed) << "nothing follows a failure";
    EXPECT_EQ(file.size(), static_cast<std::int64_t>(flushed.size()));
  }
}

TEST(RecordFile, WhatIsNoRegularFileIsNotCut) {
  const reference::TempDirectory directory;
  const std::filesystem::path path = directory.path() / "pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  {
    RecordFile file(path);
    EXPECT_FALSE(file.present_bytes());
    EXPECT_THROW(file.BeginAt(1), std::runtime_error);
    file.BeginAt(0);
    file.Write("a");
    file.Finish();
    EXPECT_EQ(file.failure(), "");
  }
  std::array<char, 10> text{};
  EXPECT_EQ(read(reader, text.data(), text.size()), 2);
  close(reader);
}

TEST(RecordFile, AFullDeviceIsNamed) {
  RecordFile file("/dev/full");
  file.BeginAt(0);
  file.Write("a");
  EXPECT_EQ(file.failure(), "");
  file.Flush();
  EXPECT_EQ(file.failure(), "cannot write /dev/full: No space left on device");
}

TEST(RecordFile, WhatCannotBeOpenedIsAStartUpFault) {
  try {
    RecordFile file("/nowhere/out.jsonl");
    ADD_FAILURE() << "there is no such directory";
  } catch (const proto::StartupError& error) {
    EXPECT_STREQ(error.what(), "cannot write /nowhere/out.jsonl: No such file or directory");
  }
}

}  // namespace record_file_test
}  // namespace scorecast::coordinator
