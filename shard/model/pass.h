#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "proto/plan/forward_plan.h"
#include "shard/attention/row_map.h"
#include "shard/exchange/row_exchange.h"

namespace scorecast::shard {

/// The rows of one part of a pass that a step computes. They follow those of the parts before it:
/// in the memory of the exchange, row i of the step is row first + i.
struct PassRows {
  explicit PassRows(std::int64_t max_rows) : map(max_rows) {}

  RowMap map;                        ///< [rows]: places of the rows in the plan.
  RowSlices owners;                  ///< The owner of each row, by its number in the exchange.
  std::vector<std::int32_t> origin;  ///< [rows]: index among all rows; empty if the rows are all
                                     ///< rows of the part.

  std::int64_t size() const { return static_cast<std::int64_t>(map.rows().size()); }
  std::int64_t first() const { return owners.bounds.front(); }
  /// Index among all rows of the pass of row number `row` in the exchange.
  std::int64_t Origin(std::int64_t row) const {
    return origin.empty() ? row : origin[static_cast<std::size_t>(row - first())];
  }
};

/// Consecutive rows of a pass.
struct PassPart {
  explicit PassPart(std::int64_t max_rows) : all(max_rows), read(max_rows) {}

  PassRows all;
  /// The rows that are read, each once and in ascending order. A row has the same owner as in
  /// `all`.
  PassRows read;
};

/// One forward pass: its plan, and the rows that follow from it.
class Pass {
 public:
  static constexpr std::size_t kMostParts = 2;

  /// Storage that is reused from pass to pass, so that no pass allocates.
  struct Buffers {
    explicit Buffers(std::int64_t max_rows)
        : map(max_rows), parts{PassPart(max_rows), PassPart(max_rows)} {}

    RowMap map;
    std::array<PassPart, kMostParts> parts;
    std::vector<std::int32_t> read_rows;
    std::vector<std::int32_t> read_index;
  };

  /// The arguments must outlive the pass.
  Pass(const proto::ForwardPlan& plan, const RowExchange& exchange, bool bidirectional,
       Buffers& buffers);

  const proto::ForwardPlan& plan() const { return plan_; }
  /// All rows of the plan.
  const RowMap& map() const { return buffers_.map; }
  std::int64_t rows() const { return static_cast<std::int64_t>(map().rows().size()); }
  std::int64_t rows_read() const { return static_cast<std::int64_t>(buffers_.read_rows.size()); }
  /// The rows in the parts that are computed in turn: see CutOfPass. One part if no messages
  /// travel meanwhile.
  std::span<const PassPart> parts() const { return std::span(buffers_.parts).first(parts_); }
  /// The rows of a part that are read.
  const PassRows& Read(const PassPart& part) const {
    return rows_read() == rows() ? part.all : part.read;
  }
  /// [reads]: for each read of the plan, the index of its row among the rows that are read. The
  /// other rows of a pooled read are those before it.
  std::span<const std::int32_t> read_index() const { return buffers_.read_index; }
  /// All positions are below this.
  std::int32_t position_limit() const { return position_limit_; }

 private:
  /// Makes a part of the rows `rows`.
  void MakePart(const RowExchange& exchange, proto::Range rows);

  const proto::ForwardPlan& plan_;
  Buffers& buffers_;
  std::size_t parts_ = 0;
  std::int32_t position_limit_ = 0;
};

/// The kinds of work in a pass, by which a rank's time is counted.
enum class Phase : int { kGemm, kAttention, kOther, kCommunication };
inline constexpr int kPhases = 4;

constexpr std::string_view Name(Phase phase) {
  constexpr std::array<std::string_view, kPhases> kNames = {"gemm", "attention", "other",
                                                            "communication"};
  return kNames[static_cast<std::size_t>(phase)];
}

/// Seconds of each phase, measured by the thread that runs the passes.
class PhaseTimes {
 public:
  /// Starts the clock. The time before this call belongs to no phase.
  void Begin() { last_ = Clock::now(); }
  /// Counts the time since the last Begin or End to `phase`.
  void End(Phase phase) {
    const Clock::time_point now = Clock::now();
    seconds_[static_cast<std::size_t>(phase)] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  const std::array<double, kPhases>& seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_;
  std::array<double, kPhases> seconds_{};
};

}  // namespace scorecast::shard
