#include "coordinator/schedule/queue/part_turns.h"

#include <algorithm>
#include <utility>

#include "coordinator/schedule/pass/pass_builder.h"

namespace scorecast::coordinator {
namespace {

/// A turn is 1/kTurnShare of a pass.
constexpr std::int64_t kTurnShare = 4;
/// But no fewer rows, unless the pass has no room for them.
constexpr std::int64_t kLeastTurnRows = 16;

}  // namespace

bool PartTurns::Has(const SequenceRef& ref) const {
  return std::any_of(all_.begin(), all_.end(),
                     [&](const Turns& other) { return other.ref == ref; });
}

std::optional<double> PartTurns::Add(const SequenceRef& ref) {
  if (!Has(ref)) {
    all_.push_back({ref, {}});
  }
  Turns& own =
      *std::find_if(all_.begin(), all_.end(), [&](const Turns& other) { return other.ref == ref; });
  pass_.Unreserve(own.part.cost, own.part.work);
  SequenceRun::Part part = Grown(own);
  std::optional<double> seconds;
  if (part.cost.rows > own.part.cost.rows) {
    const PassRates& rates = pass_.budget().rates;
    seconds = rates.Seconds(part.work) - rates.Seconds(own.part.work);
    own.part = std::move(part);
  }
  pass_.Reserve(own.part.cost, own.part.work);
  return seconds;
}

SequenceRun::Part PartTurns::Grown(const Turns& turns) const {
  const SequenceRun& run = turns.ref.run();
  const auto& [rates, budget] = pass_.budget();
  const PassCost room = pass_.room();
  const std::int64_t rows_before = turns.part.cost.rows;
  if (rows_before > 0 && rows_before == run.WorkLeft().rows) {
    return {};
  }
  const auto rows_within = [&](double seconds) {
    return run.RowsWithin(seconds, pass_.budget().rates) - rows_before;
  };
  const double turn = budget / static_cast<double>(kTurnShare);
  const std::int64_t fitting = rows_within(pass_.seconds_left());
  std::int64_t more = rows_within(rates.Seconds(turns.part.work) + turn);
  more = std::min(std::max(more, kLeastTurnRows), fitting);
  if (rows_before == 0 && more < kLeastTurnRows) {
    more = pass_.empty() ? kLeastTurnRows : 0;
  }
  more = std::min(more, (max_rows_ + kTurnShare - 1) / kTurnShare);
  if (more <= 0) {
    return {};
  }
  SequenceRun::Part part = run.NextPart(room, rows_before + more);
  // What is read of the rows is only known of a part.
  const double end = std::min(rates.Seconds(turns.part.work) + turn, pass_.seconds_left());
  while (more > kLeastTurnRows && rates.Seconds(part.work) > end) {
    more = std::max(more / 2, kLeastTurnRows);
    part = run.NextPart(room, rows_before + more);
  }
  // A chain that is not cut may be longer than a turn.
  for (std::int64_t rows = rows_before + more; part.cost.rows <= rows_before && rows < room.rows;) {
    rows = std::min(2 * rows, room.rows);
    part = run.NextPart(room, rows);
    const bool has_time = rows_before == 0 ? pass_.HasTimeFor(part.work)
                                           : rates.Seconds(part.work) <= pass_.seconds_left();
    if (part.cost.rows > rows_before && !has_time) {
      return {};
    }
  }
  return part;
}

void PartTurns::AddParts(const std::function<void(const SequenceRef& ref, double seconds)>& added) {
  for (const auto& [ref, part] : all_) {
    pass_.Unreserve(part.cost, part.work);
    if (part.cost.rows > 0) {  // Otherwise it has begun, and found no room.
      const double before = pass_.seconds();
      ref.run().AddPart(pass_, part);
      added(ref, pass_.seconds() - before - pass_.budget().rates.Seconds(part.work));
    }
  }
  all_.clear();
}

}  // namespace scorecast::coordinator
