#include "coordinator/endpoints/request_service.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/request/request_log.h"
#include "coordinator/request/timings.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;
using Response = std::unique_ptr<EndpointResponse>;

Error TooManyResponses() {
  return {503, "overloaded", "The server holds too many large responses.", "", 1};
}

Error ResponseTooLarge(std::int64_t bytes, std::int64_t limit) {
  return {413, "answer_too_large",
          "The response would be too large: up to " + std::to_string(bytes) + " > " +
              std::to_string(limit) + " bytes.",
          ""};
}

/// The error if a response is long and there is no room for it. Its `bytes` already count in
/// `held`.
std::optional<Error> RoomFault(std::int64_t bytes, const HeldBytes& held) {
  if (bytes <= kLongBytes || held.bytes() <= held.limit()) {
    return std::nullopt;
  }
  return bytes > held.limit() ? ResponseTooLarge(bytes, held.limit()) : TooManyResponses();
}

Scheduler::Ticket Refuse(const Endpoint& endpoint, Error error, ResponseSink& sink) {
  LogRefusal(endpoint.name(), error);
  sink.OnDone({[error = std::move(error)]() -> Expected<Response> { return Unexpected(error); }});
  return Scheduler::kNoTicket;
}

Expected<Response> Respond(const Endpoint& endpoint, const std::string& model,
                           const Readout& readout, const RequestTimes& times,
                           const JobResult& result) {
  Expected<Response> response =
      result.rows ? readout.Respond(*result.rows) : Unexpected(result.rows.error());
  if (!response) {
    LogRefusal(endpoint.name(), response.error());
    return response;
  }
  (*response)->model = model;
  (*response)->usage.prompt_tokens = readout.prompt_tokens;
  (*response)->usage.cached_tokens = result.cached_tokens;
  (*response)->timings = TimingsOf(times, result);
  LogResponse(endpoint.name(), readout.Summary(), (*response)->usage, (*response)->timings);
  return response;
}

}  // namespace

RequestService::RequestService(const proto::ModelConfig& config, const Tokenizer* tokenizer,
                               const ServerOptions& options, Scheduler& scheduler,
                               EndpointList endpoints)
    : config_(config),
      tokenizer_(tokenizer),
      options_(options),
      scheduler_(scheduler),
      endpoints_(endpoints) {}

const Endpoint* RequestService::FindByUrl(std::string_view url) const {
  const auto found = std::find_if(endpoints_.begin(), endpoints_.end(),
                                  [url](const Endpoint* one) { return one->url() == url; });
  return found == endpoints_.end() ? nullptr : *found;
}

const Endpoint* RequestService::FindByMessageField(int field) const {
  const auto found =
      std::find_if(endpoints_.begin(), endpoints_.end(),
                   [field](const Endpoint* one) { return one->message_field() == field; });
  return field == 0 || found == endpoints_.end() ? nullptr : *found;
}

Scheduler::Ticket RequestService::Begin(const Endpoint& endpoint, ParsedRequest parsed,
                                        Clock::time_point arrived,
                                        const std::shared_ptr<ResponseSink>& sink) {
  if (draining_) {
    return Refuse(endpoint, Draining(), *sink);
  }
  if (!parsed) {
    return Refuse(endpoint, std::move(parsed).error(), *sink);
  }
  const EndpointRequest& request = **parsed;
  if (request.streams()) {
    if (auto fault = sink->StreamFault()) {
      return Refuse(endpoint, *std::move(fault), *sink);
    }
  }
  const std::int64_t bytes = request.ResponseBytesBound(config_);
  Held room = sink->held_bytes().Hold(bytes);
  if (auto fault = RoomFault(bytes, sink->held_bytes().all())) {
    room.reset();
    return Refuse(endpoint, *std::move(fault), *sink);
  }

  const Clock::time_point begin = Clock::now();
  OnDelta on_delta;
  if (request.streams()) {
    // Weak, because the sink may come to hold the generator, which holds this function. While
    // tokens are generated, the job keeps the sink alive.
    on_delta = [weak = std::weak_ptr(sink)](std::size_t output, CompletionDelta delta) {
      if (const auto own = weak.lock()) {
        own->OnDelta(output, std::move(delta));
      }
    };
  }
  Expected<PreparedRequest> prepared =
      request.Prepare({config_, tokenizer_, options_, scheduler_.limits()}, on_delta);
  if (!prepared) {
    room.reset();
    return Refuse(endpoint, std::move(prepared).error(), *sink);
  }
  Job job = JobWith(request, arrived);
  job.sequences = std::move(prepared->sequences);
  job.generations = std::move(prepared->generations);
  job.done = [&endpoint, sink, room = std::move(room), is_long = bytes > kLongBytes,
              model = request.model.value_or(options_.model_name),
              times = RequestTimes{arrived, begin, Clock::now()},
              readout = std::move(prepared->readout)](JobResult job_result) mutable {
    auto form = [&endpoint, model, times, readout = std::move(readout),
                 result = std::make_shared<JobResult>(std::move(job_result))] {
      return Respond(endpoint, model, *readout, times, *result);
    };
    sink->OnDone({std::move(form), std::move(room), is_long});
  };
  return scheduler_.Submit(std::move(job));
}

}  // namespace scorecast::coordinator
