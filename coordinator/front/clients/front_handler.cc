#include "coordinator/front/clients/front_handler.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/post.hpp>

#include "coordinator/generate/seed.h"
#include "coordinator/request/request_error.h"
#include "coordinator/schedule/queue/scheduler.h"
#include "proto/wire/error_message.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;

PassedFormat& FormatOf(ConnectionCall& call) { return dynamic_cast<PassedFormat&>(call.format()); }

/// The fault of a client whose name a replica would not take: it is that of a certificate.
std::optional<proto::Error> NameFault(std::string_view name) {
  constexpr std::size_t kMaxBytes = 256;
  if (!name.empty() && name.size() <= kMaxBytes &&
      std::ranges::all_of(name, [](char c) { return c > ' ' && c <= '~'; })) {
    return std::nullopt;
  }
  return proto::Error{403, "bad_client_name",
                      "The name in the client's certificate must be 1 to 256 visible ASCII "
                      "characters.",
                      ""};
}

proto::Error SlowClient(std::size_t bytes) {
  return {503, "slow_client",
          "The client does not read its reply: more than " + std::to_string(bytes) +
              " bytes wait for it.",
          ""};
}

std::optional<v1::ForwardedKey> KeyOf(const Holder& holder) {
  if (holder == nullptr) {
    return std::nullopt;
  }
  v1::ForwardedKey key;
  const KeyLimits& limits = holder->key.limits;
  if (limits.waiting_tokens) {
    key.set_waiting_tokens(*limits.waiting_tokens);
  }
  if (limits.priority) {
    key.set_priority(*limits.priority);
  }
  key.set_shares_cache(limits.shares_cache);
  return key;
}

/// Whether the client's address, and all together, may hold more of replies. One that has read all
/// of its own always may.
bool HasRoomForReplies(ConnectionCall& call) { return call.replies().outer().HasRoom(); }

/// By the clock of the front, so that requests which wait here for too long take no turns.
std::optional<Clock::time_point> DeadlineOf(const ConnectionCall& call,
                                            std::optional<std::int64_t> timeout_ms) {
  constexpr std::int64_t kMostMs = std::int64_t{86'400} * 1000;
  std::optional<Clock::time_point> deadline = call.latest();
  // A time limit that is none is refused by the replica.
  if (timeout_ms && *timeout_ms > 0 && *timeout_ms <= kMostMs) {
    const Clock::time_point own = call.arrived() + std::chrono::milliseconds(*timeout_ms);
    deadline = std::min(deadline.value_or(own), own);
  }
  return deadline;
}

/// The same for all replicas, so that each of them gives the same response.
ResponseDefaults NewDefaults() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return {.seed = DrawSeed(),
          .response_id = RandomBits(),
          .created = std::chrono::duration_cast<std::chrono::seconds>(now).count()};
}

proto::Error TooManyReplies() {
  return {503, "overloaded", "The client has too many replies that it has not read.", "", 1};
}

using JudgeOfModel = decltype(FrontRequest::judge);

FrontReply ReplyOf(const proto::Error& error) {
  FrontReply reply;
  ToMessage(error, *reply.response.mutable_error());
  reply.is_last = true;
  return reply;
}

}  // namespace

FrontHandler::FrontHandler(const SocketOptions& options, std::unique_ptr<ReplicaPool> pool)
    : CallHandler(options), keys_(options.keys), pool_(std::move(pool)) {}

void FrontHandler::Handle(std::shared_ptr<ConnectionCall> call, std::optional<proto::Error> fault) {
  if (!fault && is_draining_) {
    fault = Draining();
  }
  proto::Expected<PassedMessage> message = PassedMessage();
  if (!fault) {
    try {
      message = FormatOf(*call).Take();
      if (!message) {
        fault = message.error();
      }
    } catch (const std::exception& exception) {
      fault = FaultOf(exception);
    }
  }
  if (fault) {
    Refuse(call, *fault);
    return;
  }
  asio::post(pool_->executor(),
             [this, call = std::move(call), passed = *std::move(message)]() mutable {
               Pass(call, std::move(passed));
             });
}

void FrontHandler::Pass(const std::shared_ptr<ConnectionCall>& call, PassedMessage message) {
  const std::string& model = message.named.model;
  const ReplicaGroups& groups = pool_->replicas().groups();
  const ReplicaGroup* const group = groups.ByModel(model);
  // A key is for the model that computes the response, which may be known later.
  const bool is_known = group != nullptr || !groups.MayCome(model);
  std::optional<proto::Error> fault;
  if (is_known) {
    fault = AccessFault(*call, group == nullptr ? model : group->model());
  } else if (keys_ != nullptr) {
    fault = keys_->KeyFault(call->holder());
  }
  if (!fault) {
    fault = NameFault(call->client().address);
  }
  if (!fault && is_draining_) {
    fault = Draining();
  }
  if (!fault && !HasRoomForReplies(*call)) {
    fault = TooManyReplies();
  }
  if (fault) {
    Refuse(call, *fault);
    return;
  }
  if (!call->Admitted()) {
    call->Begun();
    return;
  }
  const auto passed = std::make_shared<Passed>();
  passed->call = call;
  passed->held = std::move(message.held);
  passed_[call.get()] = passed;
  passed->id = pool_->forwarder()->Forward(
      {.bytes = std::move(message.bytes),
       .body_begin = message.body_begin,
       .model = std::move(message.named.model),
       .client = call->client(),
       .key = KeyOf(call->holder()),
       .arrived = call->arrived(),
       .deadline = DeadlineOf(*call, message.named.timeout_ms),
       .defaults = NewDefaults(),
       .judge = is_known ? JudgeOfModel() : JudgeOfModel([this, call](const std::string& of) {
         return AccessFault(*call, of);
       })},
      [this, passed](FrontReply reply) { OnPart(passed, std::move(reply)); });
  call->Begun();
}

void FrontHandler::OnPart(const PassedPointer& passed, FrontReply reply) {
  const bool is_slow = !reply.is_last && passed->unsent > kMaxUnsentBytes;
  if (is_slow || !HasRoomForReplies(*passed->call)) {
    pool_->forwarder()->Cancel(passed->id);
    EndWith(passed, is_slow ? SlowClient(kMaxUnsentBytes) : TooManyReplies());
    return;
  }
  if (reply.is_last) {
    passed->held.clear();
    passed_.erase(passed->call.get());
  }
  if (reply.response.has_error()) {
    counters().CountRefusal(reply.response.error().reason());
  }
  Send(passed, std::move(reply));
}

void FrontHandler::EndWith(const PassedPointer& passed, const proto::Error& error) {
  passed->held.clear();
  passed_.erase(passed->call.get());
  counters().CountRefusal(error.reason);
  Send(passed, ReplyOf(error));
}

void FrontHandler::Send(const PassedPointer& passed, FrontReply reply) {
  const std::size_t bytes = reply.response.ByteSizeLong();
  passed->unsent += bytes;
  Held held = passed->call->replies().Hold(static_cast<std::int64_t>(bytes));
  passed->call->Post([passed, bytes, held = std::move(held), reply = std::move(reply)]() mutable {
    ConnectionCall& call = *passed->call;
    if (call.has_left()) {
      return;
    }
    PassedFormat& format = FormatOf(call);
    Reply sent = ToReply(format.Part(reply), call.replies());
    held.reset();
    sent.is_last = reply.is_last;
    sent.ends_connection = format.ends_connection();
    sent.written = [passed, bytes] { passed->unsent -= bytes; };
    call.Send(std::move(sent));
  });
}

void FrontHandler::Refuse(const std::shared_ptr<ConnectionCall>& call, const proto::Error& error) {
  counters().CountRefusal(error.reason);
  call->Post([call, error] {
    if (!call->has_left()) {
      call->format().Skip();
      Reply reply = ToReply(call->format().Error(error), call->replies());
      reply.ends_connection = call->format().ends_connection();
      call->Send(std::move(reply));
    }
    call->Begun();
  });
}

void FrontHandler::Cancel(const std::vector<std::shared_ptr<Call>>& calls) {
  if (calls.empty()) {
    return;
  }
  asio::post(pool_->executor(), [this, calls] {
    for (const auto& call : calls) {
      if (const auto found = passed_.find(call.get()); found != passed_.end()) {
        pool_->forwarder()->Cancel(found->second->id);
        passed_.erase(found);
      }
    }
  });
}

void FrontHandler::Finish() {
  // All that was posted before has then been done.
  pool_->Run([this] {
    for (const auto& [call, passed] : std::exchange(passed_, {})) {
      pool_->forwarder()->Cancel(passed->id);
    }
  });
  pool_->Close();
}

void FrontHandler::RefuseAll() {
  is_draining_ = true;
  asio::post(pool_->executor(), [this] {
    for (const auto& [call, passed] : std::map(passed_)) {
      pool_->forwarder()->Cancel(passed->id);
      EndWith(passed, Draining());
    }
  });
}

void FrontHandler::NoteRefusal(const Endpoint* /*endpoint*/, const ClientName& /*client*/,
                               const proto::Error& /*error*/) {}

}  // namespace scorecast::coordinator
