#include "coordinator/service/request_service.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/request/request_error.h"
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

Error DeadlinePassed() {
  return {504, "deadline_passed", "The request's deadline passed before all of it was computed.",
          "timeout_ms"};
}

Error ClientLeft() {
  return {499, "client_left", "The client left before its request was computed.", ""};
}

/// Tells the observer of the end of a request that has been computed. A response that is never
/// formed is that of a client that has left.
class ComputedEnd {
 public:
  /// `observer` may be null.
  ComputedEnd(RequestObserver* observer, const ActiveRequest& request)
      : observer_(observer), endpoint_(request.endpoint()), address_(request.client().address) {}
  ~ComputedEnd() { Tell(ClientLeft().code, nullptr); }
  ComputedEnd(const ComputedEnd&) = delete;
  ComputedEnd& operator=(const ComputedEnd&) = delete;

  void Formed(const Expected<Response>& response) {
    if (response) {
      Tell(kOk, response->get());
    } else {
      Tell(response.error().code, nullptr);
    }
  }

 private:
  static constexpr int kOk = 200;

  void Tell(int code, const EndpointResponse* response) {
    if (observer_ != nullptr) {
      std::exchange(observer_, nullptr)->OnEnd({&endpoint_, address_, code, response});
    }
  }

  RequestObserver* observer_;
  const Endpoint& endpoint_;
  const std::string address_;
};

/// A request whose text is too much for the memory must not end the process.
Expected<PreparedRequest> PrepareParsed(const EndpointRequest& parsed,
                                        const RequestContext& context, const OnDelta& on_delta) {
  try {
    return parsed.Prepare(context, on_delta);
  } catch (const std::exception& exception) {
    return Unexpected(FaultOf(exception));
  }
}

Expected<Response> RespondTo(const JobResult& result, Readout& readout) {
  try {
    return readout.Respond(*result.rows);
  } catch (const std::exception& exception) {
    return Unexpected(FaultOf(exception));
  }
}

Expected<Response> Form(const Endpoint& endpoint, const std::string& request_id,
                        const std::string& model, Readout& readout, const RequestTimes& times,
                        const JobResult& result) {
  Expected<Response> response = RespondTo(result, readout);
  if (!response) {
    LogRefusal(endpoint.name(), request_id, response.error());
    return response;
  }
  (*response)->Complete(model, {.usage = {.prompt_tokens = readout.prompt_tokens,
                                          .cached_tokens = result.cached_tokens},
                                .timings = TimingsOf(times, result),
                                .items = readout.Items()});
  const ResponseFigures& figures = (*response)->figures();
  LogResponse(endpoint.name(), request_id, readout.Summary(), figures.usage, figures.timings);
  return response;
}

}  // namespace

RequestService::RequestService(const proto::ModelConfig& config, const Tokenizer* tokenizer,
                               const ServerOptions& options, Scheduler& scheduler,
                               EndpointList endpoints, DeadlineTimer::Now now,
                               RequestObserver* observer)
    : config_(config),
      tokenizer_(tokenizer),
      options_(options),
      scheduler_(scheduler),
      endpoints_(endpoints),
      observer_(observer),
      deadlines_([this](const std::vector<Request>& late) { EndAll(late, DeadlinePassed()); },
                 std::move(now)) {}

RequestService::~RequestService() {
  RefuseAll();
  std::unique_lock lock(mutex_);
  over_.wait(lock, [this] { return active_.empty(); });
}

const Endpoint* RequestService::FindByUrl(std::string_view url) const {
  const auto found = std::find_if(endpoints_.begin(), endpoints_.end(), [url](const Endpoint* one) {
    return std::ranges::find(one->urls(), url) != one->urls().end();
  });
  return found == endpoints_.end() ? nullptr : *found;
}

const Endpoint* RequestService::FindByMessageField(int field) const {
  const auto found =
      std::find_if(endpoints_.begin(), endpoints_.end(),
                   [field](const Endpoint* one) { return one->message_field() == field; });
  return field == 0 || found == endpoints_.end() ? nullptr : *found;
}

RequestService::Request RequestService::Begin(const Endpoint& endpoint, ParsedRequest parsed,
                                              Clock::time_point arrived,
                                              const std::shared_ptr<ResponseSink>& sink) {
  Request request = Admit(endpoint, std::move(parsed), arrived, sink);
  Prepare(request);
  return request;
}

std::optional<Error> RequestService::AdmissionFault(const ParsedRequest& parsed,
                                                    const ResponseSink& sink) const {
  if (draining_) {
    return Draining();
  }
  if (!parsed) {
    return parsed.error();
  }
  return (*parsed)->streams() ? sink.StreamFault() : std::nullopt;
}

RequestService::Request RequestService::Admit(const Endpoint& endpoint, ParsedRequest parsed,
                                              Clock::time_point arrived,
                                              const std::shared_ptr<ResponseSink>& sink,
                                              Held bytes) {
  auto request = std::make_shared<ActiveRequest>(endpoint, arrived, sink);
  const auto refuse = [&](Error error) {
    Refuse(*request, *request->End(), std::move(error));
    return request;
  };
  if (auto fault = AdmissionFault(parsed, *sink)) {
    return refuse(*std::move(fault));
  }
  const std::int64_t response_bytes =
      (*parsed)->ResponseBytesBound(config_) * sink->bytes_per_message_byte();
  Held room = sink->held_bytes().Hold(response_bytes);
  if (auto fault = RoomFault(response_bytes, sink->held_bytes().all())) {
    room.reset();
    return refuse(*std::move(fault));
  }
  const auto deadline = DeadlineOf(**parsed, arrived);
  request->Accept(*std::move(parsed), std::move(bytes), response_bytes, std::move(room), deadline);
  if (deadline && *deadline <= deadlines_.now()) {
    return refuse(DeadlinePassed());
  }
  if (!Register(request)) {
    return refuse(Draining());
  }
  return request;
}

void RequestService::Prepare(const Request& request) {
  const std::optional<ActiveRequest::Parts> taken = request->TakeParsed();
  if (!taken) {
    return;
  }
  const Clock::time_point begin = Clock::now();
  const EndpointRequest& parsed = *taken->parsed;
  OnDelta on_delta;
  if (parsed.streams()) {
    // Weak, because the request holds the sink, which may come to hold the generator, which holds
    // this function. While tokens are generated, the job keeps the request alive.
    on_delta = [weak = std::weak_ptr(request)](std::size_t output, CompletionDelta delta) {
      if (const auto own = weak.lock()) {
        own->Delta(output, std::move(delta));
      }
    };
  }
  Expected<PreparedRequest> prepared = PrepareParsed(
      parsed, {config_, tokenizer_, options_, scheduler_.limits(), &request->is_over()}, on_delta);
  if (!prepared) {
    EndAll({request}, prepared.error());
    return;
  }
  if (request->is_over()) {
    return;
  }
  Job job;
  job.client = request->client();
  job.priority = static_cast<std::int32_t>(parsed.priority);
  job.deadline = request->deadline();
  job.cache_salt = parsed.cache_salt.value_or("");
  job.sequences = std::move(prepared->sequences);
  job.generations = std::move(prepared->generations);
  job.done = [this, request, is_long = request->reply_bytes() > kLongBytes,
              model = parsed.model.value_or(options_.model_name),
              times = RequestTimes{request->arrived(), begin, Clock::now()},
              readout = std::move(prepared->readout)](JobResult job_result) mutable {
    if (request->is_over()) {
      return;
    }
    if (!job_result.rows) {
      EndAll({request}, job_result.rows.error());
      return;
    }
    auto form = [&endpoint = request->endpoint(), id = request->id(), model, times,
                 readout = std::move(readout),
                 result = std::make_shared<JobResult>(std::move(job_result))] {
      return Form(endpoint, id, model, *readout, times, *result);
    };
    Respond(request, {std::move(form), nullptr, is_long});
  };
  const Scheduler::Ticket ticket = scheduler_.Submit(std::move(job));
  if (!request->Queued(ticket)) {
    scheduler_.Cancel({ticket});
  }
}

void RequestService::NoteRefusal(const Endpoint* endpoint, std::string_view address,
                                 const Error& error) {
  if (observer_ != nullptr) {
    observer_->OnEnd({endpoint, address, error.code, nullptr});
  }
}

void RequestService::Refuse(const ActiveRequest& request, ActiveRequest::Parts parts, Error error) {
  LogRefusal(request.endpoint().name(), request.id(), error);
  if (observer_ != nullptr) {
    observer_->OnEnd({&request.endpoint(), request.client().address, error.code, nullptr});
  }
  const std::shared_ptr<ResponseSink> sink = std::move(parts.sink);
  parts = {};
  sink->OnDone({[error = std::move(error)]() -> Expected<Response> { return Unexpected(error); }});
}

void RequestService::Respond(const Request& request, DeferredResponse response) {
  std::optional<ActiveRequest::Parts> parts = request->End();
  if (!parts) {
    return;
  }
  response.room = std::move(parts->room);
  response.form = [form = std::move(response.form),
                   end = std::make_shared<ComputedEnd>(observer_, *request)] {
    Expected<Response> formed = form();
    end->Formed(formed);
    return formed;
  };
  parts->sink->OnDone(std::move(response));
  parts->sink.reset();
  Deregister({request});
}

void RequestService::EndAll(const std::vector<Request>& requests, const Error& error) {
  std::vector<std::pair<Request, ActiveRequest::Parts>> ended;
  std::vector<Scheduler::Ticket> tickets;
  for (const Request& request : requests) {
    if (std::optional<ActiveRequest::Parts> parts = request->End()) {
      if (parts->ticket != Scheduler::kNoTicket) {
        tickets.push_back(parts->ticket);
      }
      ended.emplace_back(request, *std::move(parts));
    }
  }
  // First, so that nothing more is computed for a client that has the error.
  scheduler_.Cancel(std::move(tickets));
  std::vector<Request> over;
  for (auto& [request, parts] : ended) {
    Refuse(*request, std::move(parts), error);
    over.push_back(request);
  }
  Deregister(over);
}

void RequestService::Cancel(const std::vector<Request>& requests) {
  std::vector<Request> active;
  std::copy_if(requests.begin(), requests.end(), std::back_inserter(active),
               [](const Request& request) { return request != nullptr; });
  EndAll(active, ClientLeft());
}

void RequestService::RefuseAll() {
  draining_ = true;
  std::vector<Request> active;
  {
    const std::lock_guard lock(mutex_);
    refuses_all_ = true;
    active.assign(active_.begin(), active_.end());
  }
  EndAll(active, Draining());
}

void RequestService::StopAfterPass() {
  draining_ = true;
  scheduler_.StopAfterPass();
}

bool RequestService::Register(const Request& request) {
  {
    const std::lock_guard lock(mutex_);
    if (refuses_all_) {
      return false;
    }
    active_.insert(request);
  }
  deadlines_.Add(request);
  return true;
}

void RequestService::Deregister(const std::vector<Request>& requests) {
  for (const Request& request : requests) {
    deadlines_.Remove(*request);
  }
  const std::lock_guard lock(mutex_);
  for (const Request& request : requests) {
    active_.erase(request);
  }
  if (active_.empty()) {
    over_.notify_all();
  }
}

bool RequestService::WaitAllOver(Clock::duration time) {
  std::unique_lock lock(mutex_);
  return over_.wait_for(lock, time, [this] { return active_.empty(); });
}

}  // namespace scorecast::coordinator
