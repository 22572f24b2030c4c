#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/message_request.h"
#include "coordinator/json/body_members.h"
#include "coordinator/json/json_writer.h"
#include "coordinator/service/call.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/service/request_service.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A call of a test, which waits for the response.
class AskingCall : public Call {
 public:
  explicit AskingCall(coordinator::OnDelta on_delta = {},
                      std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max(),
                      ClientId client = {}, Clock::time_point arrived = Clock::now())
      : Call(std::move(client), arrived), on_delta_(std::move(on_delta)), held_bytes_(max_bytes) {}

  HeldBytes& replies() override { return held_bytes_; }

  /// Waits until the response can be formed. Called once.
  AskingCall& Wait() {
    over_.get_future().get();
    return *this;
  }

 private:
  void OnDelta(std::size_t output, CompletionDelta delta) override {
    if (on_delta_) {
      on_delta_(output, std::move(delta));
    }
  }
  void OnEnd() override { over_.set_value(); }

  const coordinator::OnDelta on_delta_;
  HeldBytes held_bytes_;
  std::promise<void> over_;
};

/// Begins a call for a request that is parsed.
inline void Begin(RequestService& service, const Endpoint& endpoint, ParsedRequest parsed,
                  const std::shared_ptr<AskingCall>& call) {
  call->SetEndpoint(endpoint);
  service.Begin(call, std::move(parsed));
}

/// Returns the message of the response of `endpoint` to a body.
template <typename Response>
proto::Expected<Response> Ask(RequestService& service, const Endpoint& endpoint,
                              const nlohmann::json& body, Clock::time_point arrived = Clock::now(),
                              OnDelta on_delta = {},
                              const std::optional<ResponseIdentity>& identity = {}) {
  const auto call = std::make_shared<AskingCall>(
      std::move(on_delta), std::numeric_limits<std::int64_t>::max(), ClientId{}, arrived);
  call->SetDefaults(/*seed=*/std::nullopt, identity);
  Begin(service, endpoint, endpoint.FromJson(body), call);
  auto response = call->Wait().Respond();
  if (!response) {
    return proto::Unexpected(std::move(response).error());
  }
  return static_cast<const Response&>((*response)->message());
}

/// A response as its endpoint's clients know it.
inline OrderedJson JsonOf(const EndpointResponse& response) {
  std::string json;
  JsonWriter writer(json);
  response.WriteJson(writer);
  return OrderedJson::parse(json);
}

/// A request to `endpoint` as a body or a message of this type is read. A body that is refused
/// fails the test.
template <typename Message>
MessageRequest<Message> ReadFrom(ParsedRequest parsed) {
  if (!parsed) {
    ADD_FAILURE() << parsed.error().message;
    return MessageRequest<Message>();
  }
  return std::move(dynamic_cast<MessageRequest<Message>&>(**parsed));
}

/// Returns the value. If there is none, fails the test and returns an empty value.
template <typename Value>
Value ValueOrFail(proto::Expected<Value> value) {
  if (!value) {
    ADD_FAILURE() << value.error().message;
    return {};
  }
  return std::move(value).value();
}

}  // namespace scorecast::coordinator
