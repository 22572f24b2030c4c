#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "coordinator/schedule/pass/sequence_run.h"
#include "coordinator/schedule/queue/active_job.h"

namespace scorecast::coordinator {

class PassBuilder;

/// The sequences that are computed in parts, while a pass is formed. The part of a sequence grows
/// with each of its turns: room for it is reserved in the pass, and it is added in the end.
class PartTurns {
 public:
  /// Both outlive the object. `max_rows` is the most rows of a pass.
  PartTurns(PassBuilder& pass, std::int64_t max_rows) : pass_(pass), max_rows_(max_rows) {}

  bool Has(const SequenceRef& ref) const;
  /// Gives a turn, of at most a quarter of a pass, to a sequence whose pages are taken. Returns the
  /// predicted seconds by which its part grows, or nothing if it finds no room.
  std::optional<double> Add(const SequenceRef& ref);
  /// Adds the parts to the pass. Calls `added` after each, with the seconds by which it takes
  /// longer than its turns, negative if it takes less.
  void AddParts(const std::function<void(const SequenceRef& ref, double seconds)>& added);

 private:
  struct Turns {
    SequenceRef ref;
    SequenceRun::Part part;
  };

  /// The part after one more turn. No larger than before if there is no room.
  SequenceRun::Part Grown(const Turns& turns) const;

  PassBuilder& pass_;
  const std::int64_t max_rows_;
  std::vector<Turns> all_;
};

}  // namespace scorecast::coordinator
