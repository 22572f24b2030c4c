#pragma once

#include <set>

namespace scorecast::launcher {

/// Number of this host's NUMA nodes that contain one of these CPUs. Several nodes of memory beside
/// the same CPUs count as one. 1 if the host does not say. `synthetic` is for tests: a host in the
/// notation of hwloc, e.g. "numa:2 core:4 pu:2". Null means this host.
int CountNumaNodes(const std::set<int>& cpus, const char* synthetic = nullptr);

}  // namespace scorecast::launcher
