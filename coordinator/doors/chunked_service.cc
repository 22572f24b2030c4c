#include "coordinator/doors/chunked_service.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <spdlog/spdlog.h>

#include "coordinator/doors/answer_log.h"
#include "coordinator/doors/chunked_preparation.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

constexpr const char* kDoor = "chunked";

/// [questions], or none.
using Generators = std::vector<std::shared_ptr<CompletionGenerator>>;

/// [questions], or the 500 of one whose row is not finite.
std::optional<Error> AddScores(const ChunkedReadout& readout,
                               const std::vector<proto::RowLogits>& rows,
                               ChunkedResponse& response) {
  if (!readout.reads_rows) {
    return std::nullopt;
  }
  if (readout.row.scores) {
    response.scores.emplace();
  }
  if (readout.row.token_logprobs) {
    response.token_logprobs.emplace();
  }
  if (readout.row.top_logprobs) {
    response.top_logprobs.emplace();
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::optional<RowScores> scores = ScoresOfRow(rows[i], readout.row);
    if (!scores) {
      return NotFinite(readout.questions[i]);
    }
    if (response.scores) {
      response.scores->push_back(std::move(scores->scores));
    }
    if (response.token_logprobs) {
      response.token_logprobs->push_back(std::move(scores->token_logprobs));
    }
    if (response.top_logprobs) {
      response.top_logprobs->push_back(std::move(scores->top_logprobs));
    }
  }
  return std::nullopt;
}

std::optional<Error> AddOutputs(const ChunkedReadout& readout, const Generators& generators,
                                ChunkedResponse& response) {
  if (generators.empty()) {
    return std::nullopt;
  }
  response.outputs.emplace();
  for (std::size_t i = 0; i < generators.size(); ++i) {
    if (!generators[i]->is_finite()) {
      return NotFinite(readout.questions[i]);
    }
    response.outputs->push_back(generators[i]->output());
    response.usage.completion_tokens +=
        static_cast<std::int64_t>(generators[i]->output().token_ids.size());
  }
  return std::nullopt;
}

Expected<ChunkedResponse> Response(const ChunkedReadout& readout, const RequestTimes& times,
                                   const JobResult& result, const Generators& generators) {
  if (!result.rows) {
    return Unexpected(result.rows.error());
  }
  ChunkedResponse response;
  response.model = readout.model;
  response.usage = readout.usage;
  response.usage.cached_tokens = result.cached_tokens;
  response.timings = TimingsOf(times, result);
  if (auto fault = AddScores(readout, result.rows->front(), response)) {
    return Unexpected(*std::move(fault));
  }
  if (auto fault = AddOutputs(readout, generators, response)) {
    return Unexpected(*std::move(fault));
  }
  return response;
}

Expected<ChunkedResponse> LoggedResponse(const ChunkedReadout& readout, const RequestTimes& times,
                                         const JobResult& result, const Generators& generators) {
  Expected<ChunkedResponse> response = Response(readout, times, result, generators);
  if (!response) {
    LogRefusal(kDoor, response.error());
    return response;
  }
  const Usage& usage = response->usage;
  const Timings& timings = response->timings;
  spdlog::debug(
      "{}: {} chunks, {} questions, {} tokens, {} cached, {} generated, tokenize {:.2f} ms, queue "
      "{:.2f} ms, forward {:.2f} ms",
      kDoor, readout.num_chunks, readout.questions.size(), usage.prompt_tokens, usage.cached_tokens,
      usage.completion_tokens, timings.tokenize_ms, timings.queue_ms, timings.forward_ms);
  return response;
}

}  // namespace

ChunkedService::ChunkedService(const proto::ModelConfig& config, const Tokenizer* tokenizer,
                               const ScoreOptions& options, Scheduler& scheduler)
    : config_(config), tokenizer_(tokenizer), options_(options), scheduler_(scheduler) {}

Scheduler::Ticket ChunkedService::Answer(const ChunkedRequest& request, Clock::time_point arrived,
                                         const OnDelta& on_delta, const Ready& ready) {
  const Clock::time_point begin = Clock::now();
  Expected<PreparedChunked> prepared =
      PrepareChunked(request, {config_, tokenizer_, options_, scheduler_.limits()});
  if (!prepared) {
    Refuse(kDoor, std::move(prepared).error(), ready);
    return Scheduler::kNoTicket;
  }
  Generators generators;
  for (std::size_t i = 0; i < prepared->generations.size(); ++i) {
    CompletionGenerator::OnDelta on_own_delta;
    if (request.stream && on_delta) {
      on_own_delta = [on_delta, i](CompletionDelta delta) { on_delta(i, std::move(delta)); };
    }
    generators.push_back(std::make_shared<CompletionGenerator>(
        tokenizer_, config_.vocab_size, std::move(prepared->contexts[i]), prepared->answer,
        std::move(on_own_delta)));
    prepared->generations[i].chooser = generators.back();
  }
  Job job = JobWith(request, arrived);
  job.sequences.push_back(std::move(prepared->sequence));
  job.generations = std::move(prepared->generations);
  job.done = WhenDone(ready, [times = RequestTimes{arrived, begin, Clock::now()},
                              generators = std::move(generators),
                              readout = std::move(prepared->readout)](const JobResult& result) {
    return LoggedResponse(readout, times, result, generators);
  });
  return scheduler_.Submit(std::move(job));
}

}  // namespace scorecast::coordinator
