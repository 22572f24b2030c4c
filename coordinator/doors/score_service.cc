#include "coordinator/doors/score_service.h"

#include <memory>
#include <utility>

#include <spdlog/spdlog.h>

#include "coordinator/doors/scores.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

double Milliseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

void LogAnswer(const ScoreReadout& readout, const Timings& timings) {
  spdlog::debug(
      "score: {} items, {} tokens, tokenize {:.2f} ms, queue {:.2f} ms, forward {:.2f} ms",
      readout.num_items, readout.usage.prompt_tokens, timings.tokenize_ms, timings.queue_ms,
      timings.forward_ms);
}

void LogRefusal(const proto::Error& error) {
  if (error.code == 500) {
    spdlog::error("score: {} {}: {}", error.code, error.reason, error.message);
  } else {
    spdlog::debug("score: {} {}: {}", error.code, error.reason, error.message);
  }
}

/// From the rows that came back to the answer.
Expected<ScoreResponse> Answer(const ScoreReadout& readout, Timings timings, JobResult& result) {
  auto response = [&]() -> Expected<ScoreResponse> {
    if (!result.rows) {
      return Unexpected(std::move(result.rows).error());
    }
    return ScoresFromRows(readout, *result.rows);
  }();
  if (!response) {
    LogRefusal(response.error());
    return response;
  }
  timings.forward_ms = Milliseconds(result.finished - result.started);
  response->timings = timings;
  LogAnswer(readout, timings);
  return response;
}

}  // namespace

ScoreService::ScoreService(const proto::ModelConfig& config, const Tokenizer* tokenizer,
                           const ScoreOptions& options, Scheduler& scheduler)
    : config_(config), tokenizer_(tokenizer), options_(options), scheduler_(scheduler) {}

Scheduler::Ticket ScoreService::Score(const ScoreRequest& request, Clock::time_point arrived,
                                      const Ready& ready) {
  const Clock::time_point begin = Clock::now();
  Expected<PreparedScore> prepared =
      PrepareScore(request, {config_, tokenizer_, options_, scheduler_.limits()});
  if (!prepared) {
    LogRefusal(prepared.error());
    ready([error = std::move(prepared).error()]() -> Expected<ScoreResponse> {
      return Unexpected(error);
    });
    return Scheduler::kNoTicket;
  }
  if (prepared->readout.item_first_ignored) {
    WarnOfItemFirst();
  }
  const Clock::time_point queued = Clock::now();
  Job job;
  job.sequences = std::move(prepared->sequences);
  if (prepared->timeout) {
    job.deadline = arrived + *prepared->timeout;
  }
  job.done = [ready, arrived, queued, tokenizing = queued - begin,
              readout = std::move(prepared->readout)](JobResult result) mutable {
    Timings timings;
    timings.tokenize_ms = Milliseconds(tokenizing);
    timings.queue_ms = Milliseconds(result.started - queued);
    timings.total_ms = Milliseconds(result.finished - arrived);
    auto shared_result = std::make_shared<JobResult>(std::move(result));
    ready([readout = std::move(readout), timings, shared_result] {
      return Answer(readout, timings, *shared_result);
    });
  };
  return scheduler_.Submit(std::move(job));
}

void ScoreService::WarnOfItemFirst() {
  if (!warned_of_item_first_.exchange(true)) {
    spdlog::warn("item_first is ignored in multi-item mode (said once)");
  }
}

}  // namespace scorecast::coordinator
