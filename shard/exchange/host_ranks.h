#pragma once

#include <string>

#include "proto/base/expected.h"
#include "proto/mpi/communicator.h"

namespace scorecast::shard {

/// The number of ranks of each host, if every host has equally many consecutive ranks and more than
/// one. Otherwise the reason why not. The same on every rank. With `powers_of_two`, the number must
/// be one, unless all ranks are on one host: the ranks of a host are then one node of
/// SumTree::OfRanks. `host` has the ranks of the group that are on this rank's host. Collective.
proto::Expected<int, std::string> RanksOfEachHost(const proto::Communicator& group,
                                                  const proto::Communicator& host,
                                                  bool powers_of_two = true);

}  // namespace scorecast::shard
