#include "coordinator/service/request_service.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/request/request_error.h"
#include "coordinator/text/models/interruption.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

Error TooManyResponses() {
  return {503, "overloaded", "The server holds too many large responses.", "", 1};
}

Error ResponseTooLarge(std::int64_t bytes, std::int64_t limit, const EndpointRequest& request) {
  return {413, "answer_too_large",
          "The response would be too large: up to " + std::to_string(bytes) + " > " +
              std::to_string(limit) + " bytes.",
          request.SizeField()};
}

/// The error if a request's response is long and there is no room for it. Its `bytes` already count
/// in `held`, which is the count of its connection, and in those that this is part of.
std::optional<Error> RoomFault(const EndpointRequest& request, std::int64_t bytes,
                               const HeldBytes& held) {
  if (bytes <= kLongBytes) {
    return std::nullopt;
  }
  const HeldBytes all = held.all();
  if (all.bytes() > all.limit()) {
    return bytes > all.limit() ? ResponseTooLarge(bytes, all.limit(), request) : TooManyResponses();
  }
  // A large response has room if nothing else of its client address is held.
  const HeldBytes address = held.outer();
  const bool is_alone = address.bytes() <= bytes;
  return is_alone || address.bytes() <= address.limit() ? std::nullopt
                                                        : std::optional(TooManyResponses());
}

Error DeadlinePassed() {
  return {504, "deadline_passed", "The request's deadline passed before all of it was computed.",
          "timeout_ms"};
}

/// The 400 of a request that the model cannot compute, because it is of another kind.
std::optional<Error> KindFault(const Endpoint& endpoint, const EndpointRequest& request,
                               const proto::ModelConfig& config, EndpointList endpoints) {
  const ModelKind kind = KindOf(config);
  if (request.kinds().Has(kind)) {
    return std::nullopt;
  }
  std::string urls;
  for (const Endpoint* const one : endpoints) {
    if (one->kinds().Has(kind)) {
      urls += (urls.empty() ? "" : ", ") + std::string(one->urls().front());
    }
  }
  return BadRequest("wrong_model_kind",
                    std::string(config.architecture) + " is " + std::string(NameOf(kind)) +
                        ", which cannot answer this request to " +
                        std::string(endpoint.urls().front()) + ". It serves " + urls + ".",
                    "");
}

/// The 404 of a request that names a model which is not served, if such names are refused.
std::optional<Error> ModelFault(const EndpointRequest& request, const ServerOptions& options) {
  if (!options.strict_model_name ||
      request.model.value_or(options.model_name) == options.model_name) {
    return std::nullopt;
  }
  return NoSuchModel(*request.model, options.model_name);
}

/// The best (lowest) priority that counts. `holder` may be null.
std::int32_t BestPriority(const Holder& holder, const ServerOptions& options) {
  const std::int32_t best = options.trust_priority ? kMinPriority : 0;
  return holder == nullptr ? best : holder->key.limits.priority.value_or(best);
}

/// A request whose text is too much for the memory must not end the process.
Expected<PreparedRequest> PrepareRequest(EndpointRequest& request, const RequestContext& context,
                                         const OnDelta& on_delta) {
  try {
    return std::move(request).Prepare(context, on_delta);
  } catch (const std::exception& exception) {
    return Unexpected(FaultOf(exception));
  }
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
      deadlines_([this](const std::vector<CallPointer>& late) { EndAll(late, DeadlinePassed()); },
                 std::move(now)) {}

RequestService::~RequestService() {
  RefuseAll();
  std::unique_lock lock(mutex_);
  over_.wait(lock, [this] { return active_.empty(); });
}

const Endpoint* RequestService::FindByMessageField(int field) const {
  const auto found =
      std::find_if(endpoints_.begin(), endpoints_.end(),
                   [field](const Endpoint* one) { return one->message_field() == field; });
  return field == 0 || found == endpoints_.end() ? nullptr : *found;
}

void RequestService::Begin(const CallPointer& call, ParsedRequest parsed) {
  Admit(call, std::move(parsed));
  Prepare(call);
}

std::optional<Error> RequestService::RequestFault(const Endpoint& endpoint,
                                                  const EndpointRequest& request) const {
  if (auto fault = ModelFault(request, options_)) {
    return fault;
  }
  return KindFault(endpoint, request, config_, endpoints_);
}

std::optional<Error> RequestService::AdmissionFault(const Call& call,
                                                    const ParsedRequest& parsed) const {
  if (call.endpoint() == nullptr) {
    return parsed.error();
  }
  if (draining_) {
    return Draining();
  }
  if (!parsed) {
    return parsed.error();
  }
  if (auto fault = RequestFault(*call.endpoint(), **parsed)) {
    return fault;
  }
  return (*parsed)->streams() ? call.StreamFault() : std::nullopt;
}

void RequestService::Admit(const CallPointer& call, ParsedRequest parsed) {
  call->SetObserver(observer_);
  if (auto fault = AdmissionFault(*call, parsed)) {
    return EndAll({call}, *fault);
  }
  const std::int64_t reply_bytes =
      (*parsed)->ResponseBytesBound(config_) * call->bytes_per_message_byte();
  Held room = call->replies().Hold(reply_bytes);
  if (auto fault = RoomFault(**parsed, reply_bytes, call->replies())) {
    room.reset();
    return EndAll({call}, *fault);
  }
  auto deadline = DeadlineOf(**parsed, call->arrived());
  if (call->latest()) {
    deadline = std::min(deadline.value_or(*call->latest()), *call->latest());
  }
  call->Accept(*std::move(parsed), reply_bytes, std::move(room), deadline);
  if (deadline && *deadline <= deadlines_.now()) {
    return EndAll({call}, DeadlinePassed());
  }
  if (!Register(call)) {
    return EndAll({call}, Draining());
  }
  if (!call->Admitted()) {
    EndAll({call}, ClientLeft());
  }
}

bool RequestService::Prepare(const CallPointer& call, const std::function<void()>& give_way) {
  const auto [request, bytes] = call->TakeRequest();
  if (request == nullptr) {
    return false;
  }
  OnDelta on_delta;
  if (request->streams()) {
    // Weak, because the call comes to hold the readout, which may hold the generator, which holds
    // this function. While tokens are generated, the job keeps the call alive.
    on_delta = [weak = std::weak_ptr(call)](std::size_t output, CompletionDelta delta) {
      if (const auto own = weak.lock()) {
        own->Delta(output, std::move(delta));
      }
    };
  }
  Job job;
  job.client = call->client();
  job.priority = GrantedPriority(*request, BestPriority(call->holder(), options_));
  job.deadline = call->deadline();
  const std::string request_salt = request->cache_salt.value_or("");
  if (const Holder& holder = call->holder()) {
    job.max_client_tokens = holder->key.limits.waiting_tokens;
    job.cache_salt = holder->CacheSalt(request_salt);
  } else {
    job.cache_salt = SharedCacheSalt(request_salt);
  }
  if (!request->timeout_ms) {
    job.max_wait_seconds = call->endpoint()->max_wait_seconds();
  }
  std::string model = call->endpoint()->echoes_model()
                          ? request->model.value_or(options_.model_name)
                          : options_.model_name;
  const Interruption interruption(call->is_over(), give_way);
  Expected<PreparedRequest> prepared = PrepareRequest(
      *request, {config_, tokenizer_, options_, scheduler_.limits(), &interruption}, on_delta);
  if (!prepared) {
    EndAll({call}, prepared.error());
    return false;
  }
  if (!call->Prepared(std::move(prepared->readout), std::move(prepared->form_delta),
                      std::move(model))) {
    return false;
  }
  job.sequences = std::move(prepared->sequences);
  job.generations = std::move(prepared->generations);
  job.done = [this, call](JobResult result) { Computed(call, std::move(result)); };
  const Scheduler::Ticket ticket = scheduler_.Submit(std::move(job));
  if (!call->Queued(ticket) && ticket != Scheduler::kNoTicket) {
    scheduler_.Cancel({ticket});
  }
  return true;
}

void RequestService::Computed(const CallPointer& call, JobResult result) {
  const bool ends = result.rows ? call->End(std::move(result))
                                : call->End(std::move(result.rows).error()).has_value();
  if (!ends) {
    return;  // Touches nothing of the service, which may be gone if the call was over before.
  }
  call->TellEnd();
  Deregister({call});
}

void RequestService::NoteIoWait(Clock::duration wait) {
  if (observer_ != nullptr) {
    observer_->OnIoWait(wait);
  }
}

void RequestService::NoteRefusal(const Endpoint* endpoint, std::string_view address,
                                 const Error& error) {
  if (observer_ != nullptr) {
    observer_->OnEnd({endpoint, address, error.code, nullptr});
  }
}

void RequestService::EndAll(const std::vector<CallPointer>& calls, const Error& error) {
  std::vector<CallPointer> ended;
  std::vector<Scheduler::Ticket> tickets;
  for (const CallPointer& call : calls) {
    if (const std::optional<JobTicket> ticket = call->End(error)) {
      ended.push_back(call);
      if (*ticket != Scheduler::kNoTicket) {
        tickets.push_back(*ticket);
      }
    }
  }
  // First, so that nothing more is computed for a client that has the error.
  scheduler_.Cancel(std::move(tickets));
  for (const CallPointer& call : ended) {
    call->TellEnd();
  }
  Deregister(ended);
}

void RequestService::Cancel(const std::vector<CallPointer>& calls) { EndAll(calls, ClientLeft()); }

void RequestService::RefuseAll() {
  draining_ = true;
  std::vector<CallPointer> active;
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

bool RequestService::Register(const CallPointer& call) {
  {
    const std::lock_guard lock(mutex_);
    if (refuses_all_) {
      return false;
    }
    active_.insert(call);
  }
  deadlines_.Add(call);
  return true;
}

void RequestService::Deregister(const std::vector<CallPointer>& calls) {
  for (const CallPointer& call : calls) {
    deadlines_.Remove(*call);
  }
  const std::lock_guard lock(mutex_);
  for (const CallPointer& call : calls) {
    active_.erase(call);
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
