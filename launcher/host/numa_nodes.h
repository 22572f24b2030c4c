#pragma once

#include <set>

namespace scorecast::launcher {

/// How many NUMA nodes of this host have one of these CPUs. Several nodes of memory beside the same
/// CPUs count as one. 1 if the host does not say. `synthetic` is a host for tests in the notation
/// of hwloc, "numa:2 core:4 pu:2"; null: this host.
int CountNumaNodes(const std::set<int>& cpus, const char* synthetic = nullptr);

}  // namespace scorecast::launcher
