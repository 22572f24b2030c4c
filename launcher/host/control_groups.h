#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace scorecast::launcher {

/// A limit of one control group.
template <typename Amount>
struct GroupLimit {
  Amount amount{};
  std::string
      name;        ///< The group's path in its hierarchy, for messages: "/system.slice/x.service".
  std::string id;  ///< The same for all processes of the host that see this group.
};

/// The limits of a process's control groups.
struct ControlGroupLimits {
  std::vector<GroupLimit<double>> cpus;          ///< Quotas in CPUs; 0.5 is half of one.
  std::vector<GroupLimit<std::int64_t>> memory;  ///< Bytes.
};

/// The limits of this process's own control groups and of all groups above them, in versions 1 and
/// 2. Groups above the root of a container are not visible. `root` is the directory that contains
/// proc and sys; tests use another one.
ControlGroupLimits ReadControlGroupLimits(const std::filesystem::path& root = "/");

}  // namespace scorecast::launcher
