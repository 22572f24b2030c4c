// Limits of control groups, read from trees like those of /proc and /sys.

#include "launcher/host/control_groups.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/reference/temp_directory.h"

namespace scorecast::launcher {
namespace control_groups_test {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

constexpr char kV2Mount[] =
    "22 1 0:20 / /proc rw,nosuid - proc proc rw\n"
    "31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n";

template <typename Amount>
auto Limit(Amount amount, const std::string& name) {
  return ::testing::AllOf(Field("amount", &GroupLimit<Amount>::amount, amount),
                          Field("name", &GroupLimit<Amount>::name, name));
}

class ControlGroups : public ::testing::Test {
 protected:
  void Write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  void WriteProcess(const std::string& mounts, const std::string& groups) const {
    Write("proc/self/mountinfo", mounts);
    Write("proc/self/cgroup", groups);
  }

  ControlGroupLimits Read() const { return ReadControlGroupLimits(root_.path()); }

  const reference::TempDirectory root_;
};

TEST_F(ControlGroups, NoneWithoutFiles) {
  EXPECT_THAT(Read().cpus, IsEmpty());
  EXPECT_THAT(Read().memory, IsEmpty());
}

// A service in a slice: the limits of both count.
TEST_F(ControlGroups, Version2AndAllGroupsAbove) {
  WriteProcess(kV2Mount, "0::/system.slice/a b.service\n");
  Write("sys/fs/cgroup/cpu.max", "max 100000\n");  // A container's root has this file.
  Write("sys/fs/cgroup/system.slice/cpu.max", "400000 100000\n");
  Write("sys/fs/cgroup/system.slice/memory.max", "8589934592\n");
  Write("sys/fs/cgroup/system.slice/memory.high", "max\n");
  Write("sys/fs/cgroup/system.slice/a b.service/cpu.max", "50000 100000\n");
  Write("sys/fs/cgroup/system.slice/a b.service/memory.max", "max\n");
  Write("sys/fs/cgroup/system.slice/a b.service/memory.high", "1073741824\n");
  // Groups beside and below the process's are not its own.
  Write("sys/fs/cgroup/other.slice/cpu.max", "10000 100000\n");
  Write("sys/fs/cgroup/system.slice/a b.service/below/cpu.max", "10000 100000\n");
  const ControlGroupLimits limits = Read();
  EXPECT_THAT(limits.cpus,
              ElementsAre(Limit(4.0, "/system.slice"), Limit(0.5, "/system.slice/a b.service")));
  EXPECT_THAT(limits.memory,
              ElementsAre(Limit(std::int64_t{8} << 30, "/system.slice"),
                          Limit(std::int64_t{1} << 30, "/system.slice/a b.service")));
  EXPECT_NE(limits.cpus[0].id, limits.cpus[1].id);
  EXPECT_EQ(limits.cpus[0].id, limits.memory[0].id);
}

// A container with a namespace of its own sees its group as the root.
TEST_F(ControlGroups, TheRootOfANamespace) {
  WriteProcess(kV2Mount, "0::/\n");
  Write("sys/fs/cgroup/cpu.max", "250000 100000\n");
  Write("sys/fs/cgroup/memory.max", "4294967296\n");
  EXPECT_THAT(Read().cpus, ElementsAre(Limit(2.5, "/")));
  EXPECT_THAT(Read().memory, ElementsAre(Limit(std::int64_t{4} << 30, "/")));
}

// Hierarchies of version 1 with mount points and groups of their own, as in a container without
// a namespace: the mount shows the container's group as its root.
TEST_F(ControlGroups, Version1) {
  WriteProcess(
      "32 31 0:29 /docker/1 /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
      "33 31 0:30 /docker/1 /sys/fs/cgroup/with\\040space rw - cgroup cgroup rw,memory\n"
      "34 31 0:31 /docker/1 /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n",
      "11:memory:/docker/1/inner\n10:pids:/docker/1\n4:cpu,cpuacct:/docker/1\n0::/\n");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
  Write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "50000\n");
  Write("sys/fs/cgroup/with space/memory.limit_in_bytes", "9223372036854771712\n");
  Write("sys/fs/cgroup/with space/inner/memory.limit_in_bytes", "1000000\n");
  EXPECT_THAT(Read().cpus, ElementsAre(Limit(3.0, "/docker/1")));
  EXPECT_THAT(Read().memory, ElementsAre(Limit(std::int64_t{9223372036854771712}, "/docker/1"),
                                         Limit(std::int64_t{1000000}, "/docker/1/inner")));
}

TEST_F(ControlGroups, AQuotaOfMinusOneIsNone) {
  WriteProcess("32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n", "1:cpu:/a\n");
  for (const std::string group : {"", "a/"}) {
    Write("sys/fs/cgroup/cpu/" + group + "cpu.cfs_quota_us", "-1\n");
    Write("sys/fs/cgroup/cpu/" + group + "cpu.cfs_period_us", "100000\n");
  }
  EXPECT_THAT(Read().cpus, IsEmpty());
}

// Both versions at once: the controllers are in version 1, and version 2 has none.
TEST_F(ControlGroups, Hybrid) {
  WriteProcess(
      "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
      "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
      "1:cpu:/job\n0::/job\n");
  Write("sys/fs/cgroup/unified/job/cgroup.procs", "1\n");
  Write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000\n");
  Write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_THAT(Read().cpus, ElementsAre(Limit(2.0, "/job")));
}

// A group outside of what the mount shows: the mount's root is the nearest that is visible.
TEST_F(ControlGroups, AGroupThatIsNotVisible) {
  WriteProcess(kV2Mount, "0::/../../elsewhere\n");
  Write("sys/fs/cgroup/cpu.max", "100000 100000\n");
  EXPECT_THAT(Read().cpus, ElementsAre(Limit(1.0, "/")));
}

TEST_F(ControlGroups, MalformedFilesAreNoLimits) {
  WriteProcess(std::string(kV2Mount) + "x\n\n1 2 3 - \n", "x\n0::/a\n::\n");
  Write("sys/fs/cgroup/a/cpu.max", "many 100000\n");
  Write("sys/fs/cgroup/a/memory.max", "");
  Write("sys/fs/cgroup/cpu.max", "100000 0\n");
  EXPECT_THAT(Read().cpus, IsEmpty());
  EXPECT_THAT(Read().memory, IsEmpty());
}

}  // namespace control_groups_test
}  // namespace scorecast::launcher
