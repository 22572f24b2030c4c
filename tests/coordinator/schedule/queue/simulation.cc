#include "tests/coordinator/schedule/queue/simulation.h"

#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

#include "proto/base/check.h"
#include "tests/coordinator/schedule/sample_requests.h"
#include "tests/proto/plan/chain_begin.h"

namespace scorecast::coordinator {

using proto::ForwardPlan;
using proto::PlanSegment;

std::vector<PassWork> WorkOf(const ForwardPlan& plan) {
  std::vector<PassWork> work_of_sequences;
  auto read = plan.reads.begin();  // Reads are in the order of the sequences.
  std::int64_t rows_before = 0;
  for (const proto::PlanSequence& sequence : plan.sequences) {
    PassWork& work = work_of_sequences.emplace_back();
    for (std::size_t i = 0; i < sequence.segments.size(); ++i) {
      const PlanSegment& segment = sequence.segments[i];
      const std::size_t chain = proto::ChainBegin(sequence.segments, i);
      std::int64_t before = segment.compute_begin;  // Keys of its first row, without its own.
      for (std::size_t j = 0; j < i; ++j) {
        const PlanSegment& earlier = sequence.segments[j];
        before += j >= chain || proto::Sees(segment.kind, earlier.kind) ? earlier.compute_end : 0;
      }
      const std::int64_t rows = segment.computed();
      work.rows += rows;
      work.keys += rows * before + rows * (rows + 1) / 2;
    }
    rows_before += work.rows;
    for (; read != plan.reads.end() && read->row < rows_before; ++read) {
      const auto labels = static_cast<std::int64_t>(
          plan.label_lists[static_cast<std::size_t>(read->label_list)].size());
      ++work.reads;
      (read->normalizer ? work.labels : work.products) += labels;
      work.top += read->top_k;
    }
  }
  return work_of_sequences;
}

Simulation::Simulation(Options options)
    : options_(std::move(options)),
      random_(options_.seed),
      cluster_(options_.limits, kVocabSize, FakeCluster::Computes::kWhenTold),
      scheduler_(cluster_, OnVirtualClock(options_.scheduler)) {}

SchedulerOptions Simulation::OnVirtualClock(SchedulerOptions options) const {
  options.now = [this] { return TimePoint(now_); };
  return options;
}

Clock::time_point Simulation::TimePoint(double seconds) const {
  return Clock::time_point(std::chrono::hours(1)) +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

void Simulation::At(double seconds, std::function<void()> event) {
  proto::Check(seconds >= now_, "an event is not in the past");
  events_.emplace(seconds, std::move(event));
}

void Simulation::Run() {
  while (true) {
    if (!is_pass_in_flight_) {
      if (std::optional<ForwardPlan> plan = cluster_.next()) {
        BeginPass(*std::move(plan));
      }
    }
    if (events_.empty()) {
      return;
    }
    const auto first = events_.begin();
    now_ = first->first;
    const std::function<void()> event = std::move(first->second);
    events_.erase(first);
    event();
  }
}

void Simulation::BeginPass(ForwardPlan plan) {
  std::vector<PassWork> work = WorkOf(plan);
  double seconds = options_.rates.overhead;
  for (const PassWork& of_sequence : work) {
    seconds += options_.rates.Seconds(of_sequence);
  }
  const int one_in = options_.speed_changes_one_in;
  if (one_in > 0 && std::uniform_int_distribution(1, one_in)(random_) == 1) {
    slowness_ = std::pow(10, std::uniform_real_distribution(0.0, 3.0)(random_));
  }
  seconds *= slowness_;
  const double factor = 1 + options_.noise * std::uniform_real_distribution(-1.0, 1.0)(random_);
  const double end = now_ + factor * seconds;
  is_pass_in_flight_ = true;
  At(end, [this, pass = Pass{now_, end, std::move(work), std::move(plan)}] {
    options_.on_pass(pass);
    is_pass_in_flight_ = false;
    cluster_.ForgetPlans();
    cluster_.ComputeNext();
  });
}

}  // namespace scorecast::coordinator
