#include "shard/model/pass.h"

#include <algorithm>

#include "shard/model/pass_cut.h"

namespace scorecast::shard {

Pass::Pass(const proto::ForwardPlan& plan, const RowExchange& exchange, bool bidirectional,
           Buffers& buffers)
    : plan_(plan), buffers_(buffers) {
  auto& [map, parts, read_rows, read_index] = buffers_;
  map.Assign(plan);

  read_rows.clear();
  for (const proto::PlanRead& of_plan : plan.reads) {
    for (std::int32_t row = of_plan.is_pooled() ? of_plan.first_row : of_plan.row;
         row <= of_plan.row; ++row) {
      read_rows.push_back(row);
    }
  }
  std::ranges::sort(read_rows);
  read_rows.erase(std::ranges::unique(read_rows).begin(), read_rows.end());
  read_index.clear();
  for (const proto::PlanRead& of_plan : plan.reads) {
    read_index.push_back(static_cast<std::int32_t>(
        std::ranges::lower_bound(read_rows, of_plan.row) - read_rows.begin()));
  }

  const std::optional<std::int64_t> cut =
      exchange.SendsMessages() ? CutOfPass(plan, map, bidirectional) : std::nullopt;
  MakePart(exchange, {0, cut.value_or(rows())});
  if (cut) {
    MakePart(exchange, {*cut, rows()});
  }

  for (const RowPlace& place : map.rows()) {
    position_limit_ = std::max(position_limit_, place.position + 1);
  }
}

void Pass::MakePart(const RowExchange& exchange, proto::Range rows) {
  auto& [all, read] = buffers_.parts[parts_++];
  all.map.Select(buffers_.map, rows);
  all.owners = exchange.Even(rows);

  const std::vector<std::int32_t>& read_rows = buffers_.read_rows;
  read.owners.bounds.clear();
  for (const std::int64_t bound : all.owners.bounds) {
    read.owners.bounds.push_back(std::ranges::lower_bound(read_rows, bound) - read_rows.begin());
  }
  read.origin.assign(read_rows.begin() + read.owners.bounds.front(),
                     read_rows.begin() + read.owners.bounds.back());
  read.map.Select(buffers_.map, read.origin);
}

}  // namespace scorecast::shard
