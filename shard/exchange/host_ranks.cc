#include "shard/exchange/host_ranks.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace scorecast::shard {

proto::Expected<int, std::string> RanksOfEachHost(const proto::Communicator& group,
                                                  const proto::Communicator& host,
                                                  bool powers_of_two) {
  const int ranks = host.size();
  const int first = host.Min(group.rank());
  const std::vector<int> sizes = group.AllGather(ranks);
  const bool is_in_place = first % ranks == 0 && group.rank() == first + host.rank();
  const bool are_in_place = group.Min(is_in_place ? 1 : 0) == 1;
  if (std::ranges::count(sizes, ranks) != group.size()) {
    return proto::Unexpected(std::string("hosts with different numbers of ranks"));
  }
  if (ranks == 1) {
    return proto::Unexpected(std::string("several hosts"));
  }
  if (powers_of_two && ranks < group.size() && !std::has_single_bit(static_cast<unsigned>(ranks))) {
    return proto::Unexpected(std::to_string(ranks) + " ranks a host, which is no power of two");
  }
  if (!are_in_place) {
    return proto::Unexpected(std::string("the ranks of a host are not consecutive"));
  }
  return ranks;
}

}  // namespace scorecast::shard
