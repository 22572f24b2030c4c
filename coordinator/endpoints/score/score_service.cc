#include "coordinator/endpoints/score/score_service.h"

#include <utility>

#include <spdlog/spdlog.h>

#include "coordinator/request/timings.h"
#include "coordinator/endpoints/score/scores.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

constexpr const char* kDoor = "score";

void LogAnswer(const ScoreReadout& readout, const ScoreResponse& response) {
  const Timings& timings = response.timings;
  spdlog::debug(
      "{}: {} items, {} tokens, {} cached, tokenize {:.2f} ms, queue {:.2f} ms, forward {:.2f} ms",
      kDoor, readout.num_items, response.usage.prompt_tokens, response.usage.cached_tokens,
      timings.tokenize_ms, timings.queue_ms, timings.forward_ms);
}

/// From the rows that came back to the answer.
Expected<ScoreResponse> Answer(const ScoreReadout& readout, const RequestTimes& times,
                               const JobResult& result) {
  auto response = result.rows ? ScoresFromRows(readout, *result.rows)
                              : Expected<ScoreResponse>(Unexpected(result.rows.error()));
  if (!response) {
    LogRefusal(kDoor, response.error());
    return response;
  }
  response->usage.cached_tokens = result.cached_tokens;
  response->timings = TimingsOf(times, result);
  LogAnswer(readout, *response);
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
    Refuse(kDoor, std::move(prepared).error(), ready);
    return Scheduler::kNoTicket;
  }
  if (prepared->readout.item_first_ignored) {
    WarnOfItemFirst();
  }
  Job job = JobWith(request, arrived);
  job.sequences = std::move(prepared->sequences);
  job.done = WhenDone(ready, [times = RequestTimes{arrived, begin, Clock::now()},
                              readout = std::move(prepared->readout)](const JobResult& result) {
    return Answer(readout, times, result);
  });
  return scheduler_.Submit(std::move(job));
}

void ScoreService::WarnOfItemFirst() {
  if (!warned_of_item_first_.exchange(true)) {
    spdlog::warn("item_first is ignored in multi-item mode (said once)");
  }
}

}  // namespace scorecast::coordinator
