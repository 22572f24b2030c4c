#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proto/mpi/communicator.h"

namespace scorecast::proto {

/// Something that must be the same on every rank: a file, the build, the value of a flag.
struct Fingerprint {
  std::string key;  ///< The same on every rank, e.g. a file's name without its directory. One line.
  std::uint64_t digest = 0;
  std::string
      fault;  ///< What to say if the digests differ: "/m/x.safetensors differs from rank 0's"
};

/// Compares every rank's fingerprints with rank 0's. If a rank differs, throws StartupError on
/// every rank, which names the host of the first such rank. Collective.
void AgreeOn(const Communicator& group, const std::vector<Fingerprint>& mine);

/// The name of this host.
std::string HostName();

}  // namespace scorecast::proto
