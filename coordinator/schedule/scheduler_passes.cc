// What goes into a pass: of the queues, in which order, and how much of it is left to answers.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <optional>
#include <utility>

#include "coordinator/schedule/active_job.h"
#include "coordinator/schedule/pass_builder.h"
#include "coordinator/schedule/scheduler.h"
#include "proto/base/check.h"

namespace scorecast::coordinator {

using proto::Check;

namespace {

/// Answers that are being generated take one row in so many of a pass that others wait for.
constexpr std::int64_t kAnswersShare = 2;

/// Sequences that are looked up in the cache for one pass and then do not fit it.
constexpr int kMostLookups = 32;

}  // namespace

void Scheduler::FormPass(Step& step) {
  const Clock::time_point now = Clock::now();
  DropFaulty(now, step);
  const bool others_wait = !short_.empty() || !long_.empty();
  if (!others_wait && generating_.empty()) {
    return;
  }
  const bool long_first =
      !long_.empty() && (short_.empty() || (long_.front().job->ticket < short_.front().ticket() &&
                                            !long_led_last_pass_));
  pass_began_ = now;
  pass_rows_ = 0;
  cache_.SetAwaited(page_waiter_.has_value());
  PassBuilder pass(limits());
  if (!answers_give_way_) {
    AddAnswers(pass,
               others_wait ? std::max<std::int64_t>(pass.rows() / kAnswersShare, 1) : pass.rows(),
               now);
  }
  const bool is_beside_answers = !pass.empty();
  bool has_found_room = true;
  if (long_first) {
    has_found_room = AddLong(pass, now);
    AddShort(pass, now);
  } else {
    has_found_room = AddShort(pass, now);
    AddLong(pass, now);
  }
  AddAnswers(pass, pass.rows(), now);
  answers_give_way_ = is_beside_answers && !has_found_room;
  if (!answers_give_way_) {
    long_led_last_pass_ = long_first;
  }
  Check(!pass.empty(), "what waits fits an empty pass");
  step.plan = std::move(pass).Take();
  in_flight_ = true;
}

bool Scheduler::MustWaitForPages(const OfJob& of) const {
  return page_waiter_ && *page_waiter_ < of.ticket() && of.run().takes_several_passes() &&
         !of.run().is_under_way();
}

void Scheduler::NoteOutcome(const OfJob& of, SequenceRun::Outcome outcome) {
  if (outcome == SequenceRun::Outcome::kNoPages && !of.run().is_under_way()) {
    page_waiter_ = std::min(page_waiter_.value_or(of.ticket()), of.ticket());
  } else if (outcome == SequenceRun::Outcome::kAdded && page_waiter_ == of.ticket()) {
    page_waiter_.reset();
  }
}

bool Scheduler::AddShort(PassBuilder& pass, Clock::time_point now) {
  std::deque<OfJob> still_waiting;
  std::optional<SequenceRun::Outcome> first;
  int failures = 0;
  for (OfJob& of : short_) {
    auto outcome = SequenceRun::Outcome::kNoRoom;
    if (MustWaitForPages(of)) {
      outcome = SequenceRun::Outcome::kNoPages;
    } else if (!pass.full() && (failures < kMostLookups || !cache_.is_enabled())) {
      outcome = AddWhole(pass, of, now);
      failures += outcome == SequenceRun::Outcome::kAdded ? 0 : 1;
    }
    if (!first && outcome != SequenceRun::Outcome::kNoPages) {
      first = outcome;
    }
    if (outcome != SequenceRun::Outcome::kAdded) {
      still_waiting.push_back(std::move(of));
    }
  }
  short_ = std::move(still_waiting);
  return first != SequenceRun::Outcome::kNoRoom;
}

bool Scheduler::AddLong(PassBuilder& pass, Clock::time_point now) {
  for (auto work = long_.begin(); work != long_.end(); ++work) {
    const auto outcome = AddInTurn(pass, *work, now);
    if (work->next == work->end) {
      long_.erase(work);
      return true;
    }
    if (outcome != SequenceRun::Outcome::kNoPages) {
      return outcome == SequenceRun::Outcome::kAdded;
    }
  }
  return true;
}

SequenceRun::Outcome Scheduler::AddInTurn(PassBuilder& pass, Long& work, Clock::time_point now) {
  auto of_first = SequenceRun::Outcome::kNoRoom;
  for (const std::size_t first = work.next; work.next < work.end && !pass.full(); ++work.next) {
    const OfJob of{work.job, work.next};
    SequenceRun& run = of.run();
    const bool is_whole = !run.is_under_way() && run.FitsEmptyPass();
    auto outcome = SequenceRun::Outcome::kNoPages;
    if (!MustWaitForPages(of)) {
      outcome = is_whole ? AddWhole(pass, of, now) : AddPart(pass, of, pass.rows(), now);
    }
    if (work.next == first) {
      of_first = outcome;
    }
    if (outcome != SequenceRun::Outcome::kAdded || run.has_rows_left()) {
      break;
    }
  }
  return of_first;
}

void Scheduler::AddAnswers(PassBuilder& pass, std::int64_t most_rows, Clock::time_point now) {
  for (std::size_t i = 0; i < generating_.size() && most_rows > 0 && !pass.full(); ++i) {
    const OfJob of = generating_[i];
    if (of.run().is_in_pass()) {
      continue;
    }
    auto outcome = AddPart(pass, of, most_rows, now);
    while (outcome == SequenceRun::Outcome::kNoPages && PreemptTheYoungest() &&
           of.run().is_under_way()) {
      outcome = AddPart(pass, of, most_rows, now);
    }
    if (outcome == SequenceRun::Outcome::kAdded) {
      most_rows -= of.run().added_rows();
    }
  }
}

bool Scheduler::PreemptTheYoungest() {
  const auto youngest = std::find_if(generating_.rbegin(), generating_.rend(),
                                     [](const OfJob& of) { return !of.run().is_in_pass(); });
  if (youngest == generating_.rend()) {
    return false;
  }
  const OfJob of = *youngest;
  generating_.erase(std::next(youngest).base());
  of.run().ReleasePages();
  Requeue(of);
  return true;
}

void Scheduler::Requeue(const OfJob& of) {
  if (of.run().FitsEmptyPass()) {
    InsertByArrival(of, short_);
    return;
  }
  // The first one may have begun.
  long_.insert(std::upper_bound(
                   long_.empty() ? long_.end() : std::next(long_.begin()), long_.end(), of.ticket(),
                   [](Ticket ticket, const Long& other) { return ticket < other.job->ticket; }),
               {of.job, of.sequence, of.sequence + 1});
}

SequenceRun::Outcome Scheduler::AddWhole(PassBuilder& pass, const OfJob& of,
                                         Clock::time_point now) {
  const auto outcome = of.run().AddWhole(pass, static_cast<std::int64_t>(generating_.size()));
  NoteOutcome(of, outcome);
  if (outcome == SequenceRun::Outcome::kAdded) {
    Planned(of, now);
  }
  return outcome;
}

SequenceRun::Outcome Scheduler::AddPart(PassBuilder& pass, const OfJob& of, std::int64_t most_rows,
                                        Clock::time_point now) {
  const auto outcome =
      of.run().AddPart(pass, most_rows, static_cast<std::int64_t>(generating_.size()));
  NoteOutcome(of, outcome);
  if (outcome == SequenceRun::Outcome::kAdded) {
    Planned(of, now);
  }
  return outcome;
}

void Scheduler::Planned(const OfJob& of, Clock::time_point now) {
  ActiveJob& job = *of.job;
  if (!job.started) {
    job.started = now;
    --waiting_jobs_;
  }
  riding_.push_back(of);
  std::int64_t& waiting = job.waiting_rows[of.sequence];
  const std::int64_t added = of.run().added_rows();
  const std::int64_t gone = of.run().is_prompt_added() ? waiting : std::min(waiting, added);
  waiting -= gone;
  waiting_rows_ -= gone;
  pass_rows_ += added;
}

}  // namespace scorecast::coordinator
