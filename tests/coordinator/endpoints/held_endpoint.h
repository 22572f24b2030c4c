#pragma once

#include <array>
#include <future>
#include <span>
#include <string_view>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/json/body_members.h"
#include "coordinator/request/request_error.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// An endpoint whose long requests are being parsed until the test releases them. It has the URL
/// and the message of /v1/score, and refuses every request as "parsed".
class HeldEndpoint : public Endpoint {
 public:
  std::string_view name() const override { return "held"; }
  std::span<const std::string_view> urls() const override {
    static constexpr std::array<std::string_view, 1> kUrls = {"/v1/score"};
    return kUrls;
  }
  int message_field() const override { return v1::Request::kScore; }
  ParsedRequest FromJson(BodyJson body) const override {
    return Parsed(body.at("query").get<std::string>());
  }
  ParsedRequest FromMessage(v1::Request message) const override {
    return Parsed(message.score().query().text());
  }

  /// Called once.
  void Release() { release_.set_value(); }

 private:
  static constexpr std::size_t kLong = 50'000;

  ParsedRequest Parsed(const std::string& query) const {
    if (query.size() > kLong) {
      released_.wait();
    }
    return proto::Unexpected(BadRequest("parsed", "The request was parsed.", ""));
  }

  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

}  // namespace scorecast::coordinator
