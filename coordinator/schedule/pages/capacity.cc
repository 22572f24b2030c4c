#include "coordinator/schedule/pages/capacity.h"

#include <algorithm>
#include <string>
#include <unordered_map>

#include "coordinator/schedule/pages/kept_segments.h"
#include "proto/base/count.h"

namespace scorecast::coordinator {

using proto::PackedSequence;
using proto::PlanLimits;
using proto::RowRead;
using proto::Segment;

namespace {

/// The error of a row whose reads do not fit into one pass.
std::optional<proto::Error> RowFault(const PackedSequence& sequence, const PlanLimits& limits,
                                     std::span<const Generation> generations) {
  struct Reads {
    std::int64_t count = 0;
    std::int64_t bytes = 0;
  };
  std::unordered_map<std::int32_t, Reads> reads_of_row;
  for (const RowRead& read : sequence.reads) {
    Reads& reads = reads_of_row[read.row];
    ++reads.count;
    reads.bytes += ReadBytesOf(sequence, read, limits);
  }
  for (const Generation& generation : generations) {
    ++reads_of_row[FirstReadRow(sequence, generation)].count;
  }
  for (const auto& [row, reads] : reads_of_row) {
    if (reads.count > limits.max_reads) {
      return proto::Error{400, "capacity",
                          "Too many reads of one token: " + std::to_string(reads.count) + " > " +
                              std::to_string(limits.max_reads) + ".",
                          ""};
    }
    if (reads.bytes > limits.max_logit_bytes) {
      return proto::Error{
          413, "answer_too_large",
          "The logits of one token would be too large: " + std::to_string(reads.bytes) + " > " +
              std::to_string(limits.max_logit_bytes) + " bytes.",
          ""};
    }
  }
  return std::nullopt;
}

}  // namespace

PassCost& PassCost::operator+=(const PassCost& other) {
  rows += other.rows;
  reads += other.reads;
  kv_rows += other.kv_rows;
  logit_bytes += other.logit_bytes;
  return *this;
}

std::size_t LabelCount(const PackedSequence& sequence, const RowRead& read) {
  return read.is_pooled()
             ? 0
             : sequence.label_lists.at(static_cast<std::size_t>(read.label_list)).size();
}

std::int64_t ReadBytesOf(const PackedSequence& sequence, const RowRead& read,
                         const PlanLimits& limits) {
  return proto::ReadBytes(read, LabelCount(sequence, read), limits);
}

std::int64_t WantedBytes(const TokenChooser& chooser, const PlanLimits& limits) {
  return proto::ReadBytes(chooser.Wanted(), chooser.Labels().size(), limits);
}

PassCost& PassCost::operator-=(const PassCost& other) {
  rows -= other.rows;
  reads -= other.reads;
  kv_rows -= other.kv_rows;
  logit_bytes -= other.logit_bytes;
  return *this;
}

bool PassCost::FitsInto(const PassCost& room) const {
  return rows <= room.rows && reads <= room.reads && kv_rows <= room.kv_rows &&
         logit_bytes <= room.logit_bytes;
}

PassCost CostOf(const PackedSequence& sequence, const PlanLimits& limits,
                std::span<const Generation> generations) {
  PassCost cost{.rows = sequence.rows(), .reads = static_cast<std::int64_t>(generations.size())};
  for (const RowRead& read : sequence.reads) {
    cost.reads += proto::RowsOfRead(read);
    cost.logit_bytes += ReadBytesOf(sequence, read, limits);
  }
  for (const Generation& generation : generations) {
    cost.logit_bytes += WantedBytes(*generation.chooser, limits);
  }
  for (const Segment& segment : sequence.segments) {
    cost.kv_rows += proto::KvRows(segment.length);
  }
  return cost;
}

bool FitsPass(const PassCost& cost, const PlanLimits& limits) {
  return cost.FitsInto({.rows = limits.max_rows,
                        .reads = limits.max_reads,
                        .kv_rows = limits.pass_kv_rows,
                        .logit_bytes = limits.max_logit_bytes});
}

bool TakesSeveralPasses(const PackedSequence& sequence, const PlanLimits& limits,
                        std::span<const Generation> generations) {
  return !generations.empty() || !FitsPass(CostOf(sequence, limits), limits);
}

bool FitsInSteps(const PackedSequence& text, const PlanLimits& limits) {
  return text.segments.size() == 1 && text.rows() <= limits.longest_text;
}

std::optional<proto::Error> CapacityFault(const PackedSequence& sequence, const PlanLimits& limits,
                                          std::span<const Generation> generations) {
  if (auto fault = RowFault(sequence, limits, generations)) {
    return fault;
  }
  if (!TakesSeveralPasses(sequence, limits, generations)) {
    return std::nullopt;
  }
  if (limits.reach.both_sides) {
    if (generations.empty() && FitsInSteps(sequence, limits)) {
      return std::nullopt;
    }
    return proto::Error{
        400, "capacity",
        "Too long for the memory of this server: " + proto::Count(sequence.rows(), "token") +
            " > " + std::to_string(std::max(limits.longest_text, limits.max_rows)) + ".",
        ""};
  }
  const std::int64_t pages = KeptPages(sequence, limits, generations);
  const std::int64_t room = limits.kept_kv_rows / proto::kKvPageRows;
  if (pages > room) {
    return proto::Error{
        400, "capacity",
        "Too long for the memory of this server: " + proto::Count(sequence.rows(), "token") +
            (generations.empty() ? "" : " and the completion") +
            (generations.empty() && sequence.rows() == 1 ? " needs" : " need") + " K/V for " +
            std::to_string(pages * proto::kKvPageRows) + " rows > " +
            std::to_string(room * proto::kKvPageRows) + " (and one pass computes " +
            proto::Count(limits.max_rows, "token") + ").",
        ""};
  }
  return std::nullopt;
}

}  // namespace scorecast::coordinator
