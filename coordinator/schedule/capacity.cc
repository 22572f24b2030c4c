#include "coordinator/schedule/capacity.h"

#include <algorithm>
#include <string>
#include <vector>

#include "coordinator/schedule/kept_segments.h"

namespace scorecast::coordinator {

using proto::PackedSequence;
using proto::PlanLimits;
using proto::RowRead;
using proto::Segment;

PassCost& PassCost::operator+=(const PassCost& other) {
  rows += other.rows;
  reads += other.reads;
  kv_rows += other.kv_rows;
  return *this;
}

PassCost CostOf(const PackedSequence& sequence) {
  PassCost cost{sequence.rows(), static_cast<std::int64_t>(sequence.reads.size()), 0};
  for (const Segment& segment : sequence.segments) {
    cost.kv_rows += proto::KvRows(segment.length);
  }
  return cost;
}

bool FitsPass(const PassCost& cost, const PlanLimits& limits) {
  return cost.rows <= limits.max_rows && cost.reads <= limits.max_reads &&
         cost.kv_rows <= limits.pass_kv_rows;
}

std::optional<proto::Error> CapacityFault(const PackedSequence& sequence, const PlanLimits& limits,
                                          std::span<const Generation> generations) {
  std::vector<std::int32_t> rows;
  rows.reserve(sequence.reads.size());
  for (const RowRead& read : sequence.reads) {
    rows.push_back(read.row);
  }
  for (const Generation& generation : generations) {
    rows.push_back(FirstReadRow(sequence, generation));
  }
  std::sort(rows.begin(), rows.end());
  for (auto first = rows.begin(); first != rows.end();) {
    const auto last = std::upper_bound(first, rows.end(), *first);
    if (last - first > limits.max_reads) {
      return proto::Error{400, "capacity",
                          "Too many reads of one token: " + std::to_string(last - first) + " > " +
                              std::to_string(limits.max_reads) + ".",
                          ""};
    }
    first = last;
  }
  if (generations.empty() && FitsPass(CostOf(sequence), limits)) {
    return std::nullopt;
  }
  const std::int64_t pages = KeptPages(sequence, limits, generations);
  const std::int64_t room = limits.kept_kv_rows / proto::kKvPageRows;
  if (pages > room) {
    return proto::Error{
        400, "capacity",
        "Too long for the memory of this server: " + std::to_string(sequence.rows()) + " tokens" +
            (generations.empty() ? "" : " and the completion") + " need K/V for " +
            std::to_string(pages * proto::kKvPageRows) + " rows > " +
            std::to_string(room * proto::kKvPageRows) + " (and one pass computes " +
            std::to_string(limits.max_rows) + " tokens).",
        ""};
  }
  return std::nullopt;
}

}  // namespace scorecast::coordinator
