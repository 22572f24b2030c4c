#pragma once

#include <string>

#include "proto/base/expected.h"
#include "proto/mpi/communicator.h"

namespace scorecast::shard {

/// The number of ranks of each host, if the ranks of every host are a node of the tree in which
/// TreeSum adds up (or all ranks), and if they are more than one. Otherwise the reason why not. The
/// same on every rank. `host` has the ranks of the group that are on this rank's host. Collective.
proto::Expected<int, std::string> RanksOfEachHost(const proto::Communicator& group,
                                                  const proto::Communicator& host);

}  // namespace scorecast::shard
