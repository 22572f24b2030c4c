#include "coordinator/schedule/queue/running_completions.h"

#include <algorithm>
#include <map>
#include <utility>

namespace scorecast::coordinator {
namespace {

/// Sorts by how many of the same group come before each element.
template <typename Group>
void TakeTurns(std::vector<SequenceRef>& refs, const Group& group_of) {
  std::map<decltype(group_of(refs.front())), std::size_t> counts;
  std::vector<std::pair<std::size_t, SequenceRef>> turns;
  for (SequenceRef& ref : refs) {
    const std::size_t turn = counts[group_of(ref)]++;
    turns.emplace_back(turn, std::move(ref));
  }
  std::stable_sort(turns.begin(), turns.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  refs.clear();
  for (auto& [turn, ref] : turns) {
    refs.push_back(std::move(ref));
  }
}

}  // namespace

void RunningCompletions::Add(const SequenceRef& ref) {
  const auto place = std::lower_bound(
      running_.begin(), running_.end(), ref, [](const Running& running, const SequenceRef& other) {
        return std::pair(running.ref.ticket(), running.ref.sequence) <
               std::pair(other.ticket(), other.sequence);
      });
  if (place == running_.end() || place->ref != ref) {
    running_.insert(place, {ref});
  }
}

void RunningCompletions::Remove(const SequenceRef& ref) {
  RemoveIf([&](const SequenceRef& other) { return other == ref; });
}

void RunningCompletions::RemoveIf(const std::function<bool(const SequenceRef&)>& condition) {
  std::erase_if(running_, [&](const Running& running) { return condition(running.ref); });
}

void RunningCompletions::NoteSteps(std::uint64_t pass) {
  for (Running& running : running_) {
    if (running.ref.run().is_in_pass()) {
      running.last_pass = pass;
    }
  }
}

std::vector<SequenceRef> RunningCompletions::InTurn() const {
  std::vector<Running> by_step = running_;
  std::stable_sort(by_step.begin(), by_step.end(),
                   [](const Running& a, const Running& b) { return a.last_pass < b.last_pass; });
  std::vector<SequenceRef> refs;
  for (Running& running : by_step) {
    refs.push_back(std::move(running.ref));
  }
  TakeTurns(refs, [](const SequenceRef& ref) { return ref.job->path.client; });
  TakeTurns(refs, [](const SequenceRef& ref) { return ref.job->path.client.address; });
  TakeTurns(refs, [](const SequenceRef& ref) { return ref.job->path.client.network; });
  return refs;
}

std::optional<SequenceRef> RunningCompletions::ToPreempt(const FairQueue& queue) const {
  std::optional<SequenceRef> most;
  FairTags most_served;
  for (const Running& running : running_) {
    if (running.ref.run().is_in_pass()) {
      continue;
    }
    FairTags served = queue.TagsOf(running.ref.job->path);
    served.flow = 0;
    if (!most || served >= most_served) {  // Later ones are younger.
      most = running.ref;
      most_served = served;
    }
  }
  return most;
}

void RunningCompletions::ForEach(const std::function<void(const SequenceRef&)>& visit) const {
  for (const Running& running : running_) {
    visit(running.ref);
  }
}

}  // namespace scorecast::coordinator
