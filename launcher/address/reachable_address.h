#pragma once

#include <string>

namespace scorecast::launcher {

/// The address, in digits, at which other hosts reach a socket that listens on `ip`. This is `ip`
/// itself, unless it is 0.0.0.0 or ::, which stand for every address of this host. Then it is the
/// source address of
/// 1. the route to the host on which srun was called (SLURM_LAUNCH_NODE_IPADDR), or
/// 2. the default route,
/// or, if there is neither, the first address of a network interface that is up. A host without any
/// network gets 127.0.0.1. For :: an IPv6 address is preferred.
///
/// No packet is sent.
std::string ReachableAddress(const std::string& ip);

}  // namespace scorecast::launcher
