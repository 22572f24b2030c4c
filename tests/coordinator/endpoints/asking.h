#pragma once

#include <cstddef>
#include <cstdint>
#include <future>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/json/json_writer.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/service/request_service.h"
#include "coordinator/service/response_sink.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The sink of one request. A test waits for the response.
class AskingSink : public ResponseSink {
 public:
  explicit AskingSink(coordinator::OnDelta on_delta = {},
                      std::int64_t max_bytes = std::numeric_limits<std::int64_t>::max())
      : on_delta_(std::move(on_delta)), held_bytes_(max_bytes) {}

  HeldBytes& held_bytes() override { return held_bytes_; }
  ClientId client() const override { return {}; }
  std::optional<proto::Error> StreamFault() const override { return std::nullopt; }
  void OnDelta(std::size_t output, CompletionDelta delta) override {
    if (on_delta_) {
      on_delta_(output, std::move(delta));
    }
  }
  void OnDone(DeferredResponse response) override { done_.set_value(std::move(response)); }

  DeferredResponse Wait() { return done_.get_future().get(); }

 private:
  const coordinator::OnDelta on_delta_;
  HeldBytes held_bytes_;
  std::promise<DeferredResponse> done_;
};

/// Returns the message of the response of `endpoint` to a request.
template <typename Response, typename Request>
proto::Expected<Response> Ask(RequestService& service, const Endpoint& endpoint,
                              const Request& request, Clock::time_point arrived = Clock::now(),
                              OnDelta on_delta = {}) {
  const auto sink = std::make_shared<AskingSink>(std::move(on_delta));
  service.Begin(endpoint, AsParsed(proto::Expected<Request>(request)), arrived, sink);
  auto response = sink->Wait().form();
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
