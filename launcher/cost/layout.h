#pragma once

namespace scorecast::launcher {

/// How the ranks of one model lie on hosts: equally many consecutive ranks on each.
struct Layout {
  int hosts = 1;
  int ranks_a_host = 1;
  int threads = 1;  ///< Of each rank.

  int ranks() const { return hosts * ranks_a_host; }
  bool operator==(const Layout&) const = default;
};

}  // namespace scorecast::launcher
