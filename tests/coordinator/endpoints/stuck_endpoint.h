#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <thread>
#include <utility>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/json/body_members.h"
#include "coordinator/request/request_error.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// An endpoint whose requests are being prepared until they are stopped. It has the URL and the
/// message of /v1/score.
class StuckEndpoint : public Endpoint {
 public:
  std::string_view name() const override { return "stuck"; }
  std::span<const std::string_view> urls() const override {
    static constexpr std::array<std::string_view, 1> kUrls = {"/v1/score"};
    return kUrls;
  }
  int message_field() const override { return v1::Request::kScore; }
  ParsedRequest FromJson(BodyJson) const override { return Make(); }
  ParsedRequest FromMessage(v1::Request) const override { return Make(); }

  /// How many requests have begun to be prepared, and how many were stopped.
  int begun() const { return counts_->begun; }
  int stopped() const { return counts_->stopped; }

 private:
  struct Counts {
    std::atomic<int> begun = 0;
    std::atomic<int> stopped = 0;
  };

  struct Request : EndpointRequest {
    proto::Expected<PreparedRequest> Prepare(const RequestContext& context, const OnDelta&) &&
        override {
      ++counts->begun;
      while (!context.interruption->ShouldStop()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      ++counts->stopped;
      return proto::Unexpected(BadRequest("stopped", "The request was stopped.", ""));
    }
    std::int64_t ResponseBytesBound(const proto::ModelConfig&) const override { return 0; }

    std::shared_ptr<Counts> counts;
  };

  ParsedRequest Make() const {
    auto request = std::make_unique<Request>();
    request->counts = counts_;
    return std::unique_ptr<EndpointRequest>(std::move(request));
  }

  const std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace scorecast::coordinator
