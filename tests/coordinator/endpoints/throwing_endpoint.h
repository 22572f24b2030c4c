#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/json/body_members.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// An endpoint that has no memory for anything. It has the URL and the message of /v1/score.
class ThrowingEndpoint : public Endpoint {
 public:
  enum class Where { kParsing, kPreparing, kResponding };

  explicit ThrowingEndpoint(Where where) : where_(where) {}

  std::string_view name() const override { return "throwing"; }
  std::span<const std::string_view> urls() const override {
    static constexpr std::array<std::string_view, 1> kUrls = {"/v1/score"};
    return kUrls;
  }
  int message_field() const override { return v1::Request::kScore; }
  ParsedRequest FromJson(BodyJson) const override { return Make(); }
  ParsedRequest FromMessage(v1::Request) const override { return Make(); }

 private:
  struct Reading : Readout {
    proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows&) override {
      throw std::bad_alloc();
    }
    std::string Summary() const override { return ""; }
    std::int64_t Items() const override { return 0; }
  };

  struct Request : EndpointRequest {
    proto::Expected<PreparedRequest> Prepare(const RequestContext&, const OnDelta&) && override {
      if (where == Where::kPreparing) {
        throw std::bad_alloc();
      }
      PreparedRequest prepared;
      prepared.readout = std::make_shared<Reading>();
      return prepared;
    }
    std::int64_t ResponseBytesBound(const proto::ModelConfig&) const override { return 0; }

    Where where = Where::kPreparing;
  };

  ParsedRequest Make() const {
    if (where_ == Where::kParsing) {
      throw std::bad_alloc();
    }
    auto request = std::make_unique<Request>();
    request->where = where_;
    return std::unique_ptr<EndpointRequest>(std::move(request));
  }

  const Where where_;
};

}  // namespace scorecast::coordinator
