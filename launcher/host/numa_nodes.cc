#include "launcher/host/numa_nodes.h"

#include <algorithm>
#include <memory>
#include <type_traits>
#include <vector>

#include <hwloc.h>

namespace scorecast::launcher {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, DestroyTopology>;

struct FreeBitmap {
  void operator()(hwloc_bitmap_t bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<std::remove_pointer_t<hwloc_bitmap_t>, FreeBitmap>;

/// Null if the topology cannot be determined.
Topology LoadTopology(const char* synthetic) {
  hwloc_topology_t made = nullptr;
  if (hwloc_topology_init(&made) != 0) {
    return nullptr;
  }
  Topology topology(made);
  // Caches, sockets and the like are not needed here.
  hwloc_topology_set_all_types_filter(topology.get(), HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  if ((synthetic != nullptr && hwloc_topology_set_synthetic(topology.get(), synthetic) != 0) ||
      hwloc_topology_load(topology.get()) != 0) {
    return nullptr;
  }
  return topology;
}

}  // namespace

int CountNumaNodes(const std::set<int>& cpus, const char* synthetic) {
  const Topology topology = LoadTopology(synthetic);
  const Bitmap mine(hwloc_bitmap_alloc());
  if (topology == nullptr || mine == nullptr) {
    return 1;
  }
  for (const int cpu : cpus) {
    hwloc_bitmap_set(mine.get(), static_cast<unsigned>(cpu));
  }
  std::vector<hwloc_const_bitmap_t> found;  // CPUs of each node.
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_NUMANODE, node)) != nullptr;) {
    const bool is_new = std::ranges::none_of(found, [&](hwloc_const_bitmap_t other) {
      return hwloc_bitmap_isequal(other, node->cpuset) != 0;
    });
    if (is_new && hwloc_bitmap_intersects(node->cpuset, mine.get()) != 0) {
      found.push_back(node->cpuset);
    }
  }
  return std::max(1, static_cast<int>(found.size()));
}

}  // namespace scorecast::launcher
