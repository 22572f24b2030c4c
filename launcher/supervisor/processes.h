#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace scorecast::launcher {

/// A process of this host, as /proc shows it.
struct HostProcess {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';  ///< R runs, S sleeps, D waits for the kernel, Z has ended: see proc(5).
  std::string name;

  /// "4711 (scorecast, state R)".
  std::string ToText() const;
};

/// The children of a process, including children that have ended and are not yet collected.
std::vector<HostProcess> ChildrenOf(pid_t parent);
/// The process, if there is one, and all its descendants.
std::vector<HostProcess> FamilyOf(pid_t pid);

/// How long the main thread of a process has been ready to run but had no CPU. Nothing if the
/// kernel does not say.
std::optional<std::chrono::duration<double>> WaitForCpu(pid_t pid);

}  // namespace scorecast::launcher
