#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "coordinator/schedule/queue/active_job.h"
#include "coordinator/schedule/queue/fair_queue.h"

namespace scorecast::coordinator {

/// The sequences that generate completions, and the order of their turns.
class RunningCompletions {
 public:
  /// Adds a sequence, unless it is among them.
  void Add(const SequenceRef& ref);
  void Remove(const SequenceRef& ref);
  void RemoveIf(const std::function<bool(const SequenceRef&)>& condition);
  /// A pass is formed. Notes which of them have rows in it. Later passes have larger numbers.
  void NoteSteps(std::uint64_t pass);

  /// All of them. Networks take turns, and so do the addresses of each, and the connections of each
  /// of these; of one connection, the sequence is first whose last step was the earliest.
  std::vector<SequenceRef> InTurn() const;
  /// The youngest of the client that was served most, of those not in the pass that is being
  /// formed.
  std::optional<SequenceRef> ToPreempt(const FairQueue& queue) const;

  std::size_t size() const { return running_.size(); }
  bool empty() const { return running_.empty(); }
  void ForEach(const std::function<void(const SequenceRef&)>& visit) const;

 private:
  struct Running {
    SequenceRef ref;
    std::uint64_t last_pass = 0;
  };

  std::vector<Running> running_;  ///< In order of arrival.
};

}  // namespace scorecast::coordinator
