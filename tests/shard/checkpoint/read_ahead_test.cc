// Which parts of files are read ahead, and that the system then has these parts and no others.

#include "shard/checkpoint/read_ahead.h"

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/shard/checkpoint/model_files.h"

namespace scorecast::shard {

bool operator==(const FilePart& a, const FilePart& b) {
  return a.file == b.file && a.bytes == b.bytes;
}
void PrintTo(const FilePart& part, std::ostream* out) {
  *out << "[" << part.bytes.begin << ", " << part.bytes.end << ")";
}

namespace read_ahead_test {

using proto::Range;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Parts = std::vector<FilePart>;

constexpr std::int64_t kPage = 4096;

class ReadAheadTest : public ::testing::Test {
 protected:
  /// A file of so many bytes, all of them on the disk.
  WeightFile MakeFile(const std::string& name, std::int64_t bytes) const {
    dir_.Write(name, std::string(static_cast<std::size_t>(bytes), 'x'));
    return WeightFile(dir_.path() / name);
  }

  const TempDir dir_;
};

TEST_F(ReadAheadTest, BlocksOfTensors) {
  const WeightFile file = MakeFile("a", 1);
  // 10 rows of 100 BF16 numbers.
  const TensorView small = {Dtype::kBF16, {10, 100}, &file, 1000, 2000};
  EXPECT_EQ(PartsOfBlock(small, {0, 10}, {0, 100}), (Parts{{&file, {1000, 3000}}}));
  EXPECT_EQ(PartsOfBlock(small, {3, 5}, {0, 100}), (Parts{{&file, {1600, 2000}}}));
  // The gaps between the rows are small.
  EXPECT_EQ(PartsOfBlock(small, {3, 5}, {10, 20}), (Parts{{&file, {1620, 1840}}}));
  EXPECT_THAT(PartsOfBlock(small, {3, 3}, {0, 100}), IsEmpty());
  EXPECT_THAT(PartsOfBlock(small, {0, 10}, {7, 7}), IsEmpty());
  const TensorView vector = {Dtype::kF32, {10}, &file, 8, 40};
  EXPECT_EQ(PartsOfBlock(vector, {2, 10}, {0, 1}), (Parts{{&file, {16, 48}}}));
  EXPECT_THAT(PartsOfBlock({Dtype::kF32, {0, 5}, &file, 8, 0}, {0, 0}, {0, 5}), IsEmpty());
}

TEST_F(ReadAheadTest, RowsThatLieFarApart) {
  const WeightFile file = MakeFile("a", 1);
  const std::int64_t half = kMergedGap / 2;  // In numbers of two bytes, so it is kMergedGap.
  const TensorView wide = {Dtype::kBF16, {3, 2 * half}, &file, 0, 12 * half};
  EXPECT_EQ(PartsOfBlock(wide, {0, 3}, {half, 2 * half}),
            (Parts{{&file, {kMergedGap, 2 * kMergedGap}},
                   {&file, {3 * kMergedGap, 4 * kMergedGap}},
                   {&file, {5 * kMergedGap, 6 * kMergedGap}}}));
  EXPECT_EQ(PartsOfBlock(wide, {0, 3}, {half - 1, 2 * half}),
            (Parts{{&file, {kMergedGap - 2, 6 * kMergedGap}}}));
}

TEST_F(ReadAheadTest, MergesPartsThatAreNear) {
  const WeightFile a = MakeFile("a", 1);
  const WeightFile b = MakeFile("b", 1);
  const std::int64_t far = 10 + kMergedGap;
  EXPECT_EQ(Merge({{&a, {far, far + 5}}, {&a, {0, 10}}}),
            (Parts{{&a, {0, 10}}, {&a, {far, far + 5}}}));
  EXPECT_EQ(Merge({{&a, {far - 1, far + 5}}, {&a, {0, 10}}}), (Parts{{&a, {0, far + 5}}}));
  EXPECT_EQ(Merge({{&a, {0, 100}}, {&a, {20, 30}}, {&a, {50, 120}}}), (Parts{{&a, {0, 120}}}));
  EXPECT_THAT(Merge({{&a, {0, 0}}}), IsEmpty());
  const Parts both = Merge({{&b, {0, 10}}, {&a, {0, 10}}, {&b, {5, 20}}});
  EXPECT_THAT(both, ::testing::UnorderedElementsAre(FilePart{&a, {0, 10}}, FilePart{&b, {0, 20}}));
}

/// Waits until so many bytes were asked for.
void WaitFor(const ReadAhead& ahead, std::int64_t bytes) {
  for (int i = 0; i < 6000 && ahead.asked_bytes() < bytes; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_EQ(ahead.asked_bytes(), bytes);
}

/// The parts of a file that are in the page cache.
class CachedPages {
 public:
  explicit CachedPages(const std::filesystem::path& path) : fd_(::open(path.c_str(), O_RDONLY)) {
    size_ = static_cast<std::size_t>(::lseek(fd_, 0, SEEK_END));
    map_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED, fd_, 0);
  }
  ~CachedPages() {
    ::munmap(map_, size_);
    ::close(fd_);
  }
  CachedPages(const CachedPages&) = delete;
  CachedPages& operator=(const CachedPages&) = delete;

  /// Drops the file from the page cache. False if the file system keeps it there, as a tmpfs does.
  bool Drop() const {
    ::fsync(fd_);
    ::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
    return Count({0, static_cast<std::int64_t>(size_)}) == 0;
  }

  std::int64_t Count(Range bytes) const {
    std::vector<unsigned char> flags((size_ + kPage - 1) / kPage);
    EXPECT_EQ(::mincore(map_, size_, flags.data()), 0);
    std::int64_t count = 0;
    for (std::int64_t page = bytes.begin / kPage; page * kPage < bytes.end; ++page) {
      count += flags[static_cast<std::size_t>(page)] & 1U;
    }
    return count;
  }

 private:
  int fd_;
  std::size_t size_ = 0;
  void* map_ = nullptr;
};

TEST_F(ReadAheadTest, TheSystemReadsThesePartsOnly) {
  if (sysconf(_SC_PAGESIZE) != kPage) {
    GTEST_SKIP() << "pages of another size";
  }
  constexpr std::int64_t kMib = 1 << 20;
  const WeightFile file = MakeFile("a", 16 * kMib);
  const CachedPages cached(dir_.path() / "a");
  if (!cached.Drop()) {
    GTEST_SKIP() << "this file system keeps its pages in memory";
  }
  // The second part is longer than one request.
  const Range first = {kMib, kMib + 10 * kPage};
  const Range second = {8 * kMib, 11 * kMib + kPage};
  ReadAhead ahead({{{&file, second}}, {{&file, first}}});
  EXPECT_EQ(ahead.bytes(), first.size() + second.size());
  WaitFor(ahead, ahead.bytes());
  // The system reads them while this thread goes on.
  const std::int64_t pages = ahead.bytes() / kPage;
  for (int i = 0; i < 6000 && cached.Count(first) + cached.Count(second) < pages; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(cached.Count(first) + cached.Count(second), pages);
  EXPECT_EQ(cached.Count({0, 16 * kMib}), pages);
}

TEST_F(ReadAheadTest, StaysWithinTheWindow) {
  const WeightFile file = MakeFile("a", 10 * ReadAhead::kBlock);
  const auto blocks = [&](std::int64_t begin, std::int64_t end) {
    return Parts{{&file, {begin * ReadAhead::kBlock, end * ReadAhead::kBlock}}};
  };
  ReadAhead ahead({blocks(0, 2), blocks(2, 4), blocks(4, 10)}, 3 * ReadAhead::kBlock);
  WaitFor(ahead, 5 * ReadAhead::kBlock);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(ahead.asked_bytes(), 5 * ReadAhead::kBlock);
  ahead.Reach(1);
  WaitFor(ahead, 7 * ReadAhead::kBlock);
  ahead.Reach(3);
  WaitFor(ahead, 10 * ReadAhead::kBlock);
}

TEST_F(ReadAheadTest, EndsBeforeItIsDone) {
  const WeightFile file = MakeFile("a", 2 * ReadAhead::kBlock);
  const ReadAhead ahead(
      {{{&file, {0, ReadAhead::kBlock}}}, {{&file, {ReadAhead::kBlock, 2 * ReadAhead::kBlock}}}},
      0);
  WaitFor(ahead, ReadAhead::kBlock);
  EXPECT_EQ(ahead.bytes(), 2 * ReadAhead::kBlock);
}

TEST_F(ReadAheadTest, NothingToRead) {
  ReadAhead ahead(std::vector<Parts>(2));
  ahead.Reach(2);
  EXPECT_EQ(ahead.bytes(), 0);
}

}  // namespace read_ahead_test
}  // namespace scorecast::shard
