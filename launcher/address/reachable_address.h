#pragma once

#include <string>

namespace scorecast::launcher {

/// The address, in digits, at which other hosts reach a socket that listens on `ip`. It is `ip`
/// itself unless that is 0.0.0.0 or ::, every address of this host. Then it is the address that
/// this host itself has towards others, which is the source address of
/// 1. the route to the host from which Slurm's srun was called (SLURM_LAUNCH_NODE_IPADDR),
/// 2. the default route,
/// or, if there is neither, the first address of a network interface that is up. A host without any
/// network has 127.0.0.1. With :: an IPv6 address is preferred.
///
/// No packet is sent.
std::string ReachableAddress(const std::string& ip);

}  // namespace scorecast::launcher
