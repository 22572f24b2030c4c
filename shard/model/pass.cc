#include "shard/model/pass.h"

#include <algorithm>

namespace scorecast::shard {

Pass::Pass(const proto::ForwardPlan& plan, const RowExchange& exchange, Buffers& buffers)
    : plan_(plan), buffers_(buffers) {
  auto& [all, read, read_index, reads_all] = buffers_;
  all.map.Assign(plan);
  all.owners = exchange.Even(static_cast<std::int64_t>(plan.tokens.size()));

  read.origin.clear();
  for (const proto::PlanRead& of_plan : plan.reads) {
    for (std::int32_t row = of_plan.is_pooled() ? of_plan.first_row : of_plan.row;
         row <= of_plan.row; ++row) {
      read.origin.push_back(row);
    }
  }
  std::ranges::sort(read.origin);
  read.origin.erase(std::ranges::unique(read.origin).begin(), read.origin.end());
  reads_all = read.origin.size() == plan.tokens.size();
  read.map.Select(all.map, read.origin);
  read.owners.bounds.clear();
  const auto first_read_at = [&read = read](std::int64_t row) {
    return std::ranges::lower_bound(read.origin, row) - read.origin.begin();
  };
  for (const std::int64_t bound : all.owners.bounds) {
    read.owners.bounds.push_back(first_read_at(bound));
  }
  read_index.clear();
  for (const proto::PlanRead& of_plan : plan.reads) {
    read_index.push_back(static_cast<std::int32_t>(first_read_at(of_plan.row)));
  }

  for (const RowPlace& place : all.map.rows()) {
    position_limit_ = std::max(position_limit_, place.position + 1);
  }
}

}  // namespace scorecast::shard
