// Files of shared memory that killed jobs of Open MPI have left: which are removed, and which stay.

#include "launcher/host/left_segments.h"

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "launcher/supervisor/descriptor.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::launcher {
namespace left_segments_test {

using std::chrono::hours;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kSegmentBytes = 64 << 10;

class LeftSegments : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path path = directory_.path() / "file";
    const Descriptor file(open(path.c_str(), O_CREAT | O_RDONLY | O_CLOEXEC, 0600));
    if (fcntl(file.get(), F_SETLEASE, F_WRLCK) != 0) {
      GTEST_SKIP() << "no leases on the file system of " << directory_.path();
    }
    std::filesystem::remove(path);
  }

  /// Makes a file as Open MPI does, and keeps it open.
  Descriptor Make(const std::string& name, hours age = hours(1)) const {
    const std::filesystem::path path = directory_.path() / name;
    Descriptor file(open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600));
    const std::string bytes(kSegmentBytes, 'x');
    EXPECT_EQ(write(file.get(), bytes.data(), bytes.size()), ssize_t{kSegmentBytes});
    std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - age);
    return file;
  }

  bool Exists(const std::string& name) const {
    return std::filesystem::exists(directory_.path() / name);
  }

  const std::string vader_ = "vader_segment.node.1." + std::to_string(geteuid()) + ".62700001.";
  const reference::TempDirectory directory_;
};

TEST_F(LeftSegments, ThatNobodyMapsAreRemovedAndCounted) {
  const std::string window = "osc_sm.node.1.62700001.0.6";
  Make(vader_ + "0").Reset();
  Make(vader_ + "11").Reset();
  Make(window).Reset();
  const RemovedSegments removed = RemoveLeftSegments(directory_.path());
  EXPECT_EQ(removed.files, 3);
  EXPECT_GE(removed.bytes, 3 * kSegmentBytes);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  EXPECT_EQ(RemoveLeftSegments(directory_.path()).files, 0);
}

TEST_F(LeftSegments, ThatAProcessMapsStay) {
  Descriptor file = Make(vader_ + "0");
  EXPECT_EQ(RemoveLeftSegments(directory_.path()).files, 0) << "it is open";

  // As in a rank: the file is mapped, but no longer open.
  void* const memory =
      mmap(nullptr, kSegmentBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  ASSERT_NE(memory, MAP_FAILED);
  file.Reset();
  EXPECT_EQ(RemoveLeftSegments(directory_.path()).files, 0) << "it is mapped";
  EXPECT_TRUE(Exists(vader_ + "0"));

  munmap(memory, kSegmentBytes);
  EXPECT_EQ(RemoveLeftSegments(directory_.path()).files, 1);
  EXPECT_FALSE(Exists(vader_ + "0"));
}

TEST_F(LeftSegments, ThatAreYoungStay) {
  Make(vader_ + "0", hours(0)).Reset();
  EXPECT_EQ(RemoveLeftSegments(directory_.path()).files, 0);
  EXPECT_TRUE(Exists(vader_ + "0"));
  EXPECT_EQ(RemoveLeftSegments(directory_.path(), seconds(0)).files, 1);
}

TEST_F(LeftSegments, FilesWithOtherNamesStay) {
  const std::string other_user = std::to_string(geteuid() + 1);
  const std::vector<std::string> names = {"vader_segment.node." + other_user + ".62700001.0",
                                          "vader_segment.node",
                                          vader_ + "x",
                                          vader_ + "0.copy",
                                          "my_" + vader_ + "0",
                                          "osc_sm.node.62700001.0",
                                          "psm2_shm.123",
                                          "sem.lock"};
  for (const std::string& name : names) {
    Make(name).Reset();
  }
  EXPECT_EQ(RemoveLeftSegments(directory_.path()).files, 0);
  for (const std::string& name : names) {
    EXPECT_TRUE(Exists(name)) << name;
  }
}

TEST_F(LeftSegments, OnlyRegularFilesAreRemoved) {
  Make("target").Reset();
  std::filesystem::create_symlink(directory_.path() / "target", directory_.path() / (vader_ + "0"));
  std::filesystem::create_directory(directory_.path() / (vader_ + "1"));
  ASSERT_EQ(mkfifo((directory_.path() / (vader_ + "2")).c_str(), 0600), 0);
  EXPECT_EQ(RemoveLeftSegments(directory_.path(), seconds(-1)).files, 0);
  for (const std::string& name :
       {std::string("target"), vader_ + "0", vader_ + "1", vader_ + "2"}) {
    EXPECT_TRUE(Exists(name)) << name;
  }
}

TEST_F(LeftSegments, OfAHostAreRemovedByItsFirstRank) {
  std::map<std::string, std::string> variables = {
      {"OMPI_MCA_btl_vader_backing_directory", directory_.path()},
      {"OMPI_MCA_osc_sm_backing_directory", directory_.path()}};
  const Environment environment = [&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  Make(vader_ + "0").Reset();
  variables["SLURM_LOCALID"] = "1";
  EXPECT_THAT(RemoveLeftSegmentsOfHost(environment), IsEmpty());
  variables["SLURM_LOCALID"] = "0";  // The variable of mpirun's daemon.
  variables["OMPI_COMM_WORLD_LOCAL_RANK"] = "1";
  EXPECT_THAT(RemoveLeftSegmentsOfHost(environment), IsEmpty());
  EXPECT_TRUE(Exists(vader_ + "0"));

  variables["OMPI_COMM_WORLD_LOCAL_RANK"] = "0";
  EXPECT_THAT(RemoveLeftSegmentsOfHost(environment),
              ElementsAre(HasSubstr("removed 1 file with 0.1 MB from " +
                                    directory_.path().string() + " of host ")));
  EXPECT_FALSE(Exists(vader_ + "0"));
  EXPECT_THAT(RemoveLeftSegmentsOfHost(environment), IsEmpty());

  variables.erase("OMPI_COMM_WORLD_LOCAL_RANK");
  variables.erase("SLURM_LOCALID");
  Make(vader_ + "0").Reset();
  EXPECT_EQ(RemoveLeftSegmentsOfHost(environment).size(), 1U) << "a process without a launcher";
}

}  // namespace left_segments_test
}  // namespace scorecast::launcher
