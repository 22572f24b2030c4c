#include "launcher/host/control_groups.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include <sys/stat.h>

namespace scorecast::launcher {
namespace {

namespace fs = std::filesystem;

/// A mounted hierarchy of control groups, from a line of mountinfo.
struct Hierarchy {
  bool is_v2 = false;
  std::vector<std::string> controllers;  ///< In version 1: "cpu", "memory".
  std::string group_root;                ///< The group that is visible at `mount_point`.
  std::string mount_point;
};

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    parts.push_back(part);
  }
  return parts;
}

/// Undoes the octal escapes of mountinfo, for example "\040" for a space.
std::string Unescaped(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>(std::stoi(text.substr(i + 1, 3), nullptr, 8));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

/// "31 23 0:28 GROUP_ROOT MOUNT_POINT rw,relatime [optional ...] - TYPE SOURCE OPTIONS"
std::optional<Hierarchy> ParseMount(const std::string& line) {
  std::istringstream stream(line);
  std::string skipped;
  Hierarchy hierarchy;
  stream >> skipped >> skipped >> skipped >> hierarchy.group_root >> hierarchy.mount_point;
  while (stream >> skipped && skipped != "-") {
  }
  std::string type;
  std::string source;
  std::string options;
  stream >> type >> source >> options;
  if (type != "cgroup" && type != "cgroup2") {
    return std::nullopt;
  }
  hierarchy.is_v2 = type == "cgroup2";
  hierarchy.controllers = Split(options, ',');
  hierarchy.group_root = Unescaped(hierarchy.group_root);
  hierarchy.mount_point = Unescaped(hierarchy.mount_point);
  return hierarchy;
}

bool Has(const Hierarchy& hierarchy, const std::string& controller) {
  return !hierarchy.is_v2 &&
         std::ranges::find(hierarchy.controllers, controller) != hierarchy.controllers.end();
}

/// This process's group in a hierarchy, from lines "NUMBER:CONTROLLERS:GROUP".
std::optional<std::string> GroupIn(const Hierarchy& hierarchy,
                                   const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) {
      continue;
    }
    const std::vector<std::string> controllers =
        Split(line.substr(first + 1, second - first - 1), ',');
    const bool is_ours = hierarchy.is_v2
                             ? controllers.empty()
                             : std::ranges::any_of(controllers, [&](const std::string& name) {
                                 return Has(hierarchy, name);
                               });
    if (is_ours) {
      return line.substr(second + 1);
    }
  }
  return std::nullopt;
}

std::vector<std::string> LinesOf(const fs::path& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

/// Parts of `group` below `group_root`. Empty if the mount point does not show the group. The
/// nearest group that it does show is then `group_root`.
std::vector<std::string> PartsBelow(const std::string& group_root, const std::string& group) {
  const fs::path below = fs::path(group).lexically_relative(group_root);
  std::vector<std::string> parts;
  for (const fs::path& part : below) {
    if (part == "..") {
      return {};
    }
    if (part != ".") {
      parts.push_back(part.string());
    }
  }
  return parts;
}

/// A number in a file. Empty if the file is missing or says "max".
std::optional<std::int64_t> NumberIn(const fs::path& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  return file >> number ? std::optional(number) : std::nullopt;
}

/// CPUs of a group of version 2. Its file has "QUOTA PERIOD", or "max PERIOD" if there is no limit.
std::optional<double> CpusOfV2(const fs::path& group) {
  std::ifstream file(group / "cpu.max");
  double quota = 0;
  double period = 0;
  return file >> quota >> period && quota > 0 && period > 0 ? std::optional(quota / period)
                                                            : std::nullopt;
}

/// CPUs of a group of version 1. A quota of -1 means that there is no limit.
std::optional<double> CpusOfV1(const fs::path& group) {
  const auto quota = NumberIn(group / "cpu.cfs_quota_us");
  const auto period = NumberIn(group / "cpu.cfs_period_us");
  if (!quota || !period || *quota <= 0 || *period <= 0) {
    return std::nullopt;
  }
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

/// Adds the limits of the group in `directory`.
void AddLimits(const Hierarchy& hierarchy, const fs::path& directory, const std::string& name,
               ControlGroupLimits& limits) {
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) {
    return;
  }
  const std::string id = std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
  const auto add = [&](auto& to, const auto& amount) {
    if (amount) {
      to.push_back({*amount, name, id});
    }
  };
  if (hierarchy.is_v2) {
    add(limits.cpus, CpusOfV2(directory));
    add(limits.memory, NumberIn(directory / "memory.max"));
    // If a group has more than this, the system takes memory back from it and slows it down.
    add(limits.memory, NumberIn(directory / "memory.high"));
    return;
  }
  if (Has(hierarchy, "cpu")) {
    add(limits.cpus, CpusOfV1(directory));
  }
  if (Has(hierarchy, "memory")) {
    add(limits.memory, NumberIn(directory / "memory.limit_in_bytes"));
  }
}

}  // namespace

ControlGroupLimits ReadControlGroupLimits(const fs::path& root) {
  const std::vector<std::string> groups = LinesOf(root / "proc/self/cgroup");
  ControlGroupLimits limits;
  for (const std::string& line : LinesOf(root / "proc/self/mountinfo")) {
    const std::optional<Hierarchy> hierarchy = ParseMount(line);
    const auto group = hierarchy ? GroupIn(*hierarchy, groups) : std::nullopt;
    if (!group) {
      continue;
    }
    // From the mount point down to the process's own group.
    fs::path directory = root / fs::path(hierarchy->mount_point).relative_path();
    fs::path name = hierarchy->group_root;
    AddLimits(*hierarchy, directory, name.string(), limits);
    for (const std::string& part : PartsBelow(hierarchy->group_root, *group)) {
      directory /= part;
      name /= part;
      AddLimits(*hierarchy, directory, name.string(), limits);
    }
  }
  return limits;
}

}  // namespace scorecast::launcher
