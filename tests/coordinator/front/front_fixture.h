#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <gtest/gtest.h>

#include "coordinator/front/forwarder.h"
#include "coordinator/front/replicas.h"
#include "tests/coordinator/front/fake_replica.h"

namespace scorecast::coordinator {

/// A part of the reply to an HTTP request.
inline v1::Response PartOf(const v1::Request& request, const std::string& body,
                           bool is_last = false) {
  v1::Response response;
  response.set_request_id(request.request_id());
  response.mutable_http()->set_status(200);
  response.mutable_http()->set_body(body);
  response.mutable_http()->set_last(is_last);
  return response;
}

/// A front before two replicas, "a" and "b", in one loop.
class FrontFixture : public ::testing::Test {
 protected:
  static ReplicaOptions QuickReplicas() {
    ReplicaOptions options;
    options.front_key = "key";
    options.first_pause = std::chrono::milliseconds(2);
    options.longest_pause = std::chrono::milliseconds(10);
    options.silence = std::chrono::hours(1);
    options.first_aside = std::chrono::milliseconds(20);
    options.longest_aside = std::chrono::milliseconds(80);
    return options;
  }

  FrontFixture() {
    options_.queue.patience = std::chrono::hours(1);
    options_.outstanding = {.seconds = 0, .requests = 2};
  }
  ~FrontFixture() override {
    if (forwarder_ != nullptr) {
      forwarder_->Close();
    }
    replicas_.Close();
    io_.restart();
    io_.run_for(std::chrono::milliseconds(1));
  }

  bool Run(const std::function<bool()>& holds) { return RunUntil(io_, holds); }
  void Start() {
    forwarder_ = std::make_shared<Forwarder>(io_.get_executor(), replicas_, options_);
    forwarder_->Start();
    replicas_.SetList({{"a", a_.address()}, {"b", b_.address()}});
  }
  /// Starts, and waits until so many replicas can be used.
  bool StartWith(std::size_t usable = 2) {
    Start();
    return Run([&] { return Usable() == usable; });
  }
  std::size_t Usable() const {
    std::size_t usable = 0;
    for (const ReplicaGroup& group : replicas_.groups().groups()) {
      usable += replicas_.UsableOf(group).size();
    }
    return usable;
  }

  static FrontRequest RequestOf(const std::string& body, const std::string& client = "c") {
    v1::Request message;
    message.mutable_http()->set_body(body);
    FrontRequest request;
    request.bytes = message.SerializeAsString();
    request.body_begin = request.bytes.size() - body.size();
    request.client = {.address = client, .network = client};
    request.defaults = {.seed = 5, .response_id = 6, .created = 7};
    return request;
  }
  /// The parts of its reply are in `replies_` under its body.
  std::uint64_t Forward(FrontRequest request) {
    const std::string body = request.bytes.substr(request.body_begin);
    return forwarder_->Forward(std::move(request), [this, body](FrontReply reply) {
      if (reply.is_last) {
        ++ended_;
        order_ += body[0];
      }
      replies_[body].push_back(std::move(reply));
    });
  }
  std::uint64_t Forward(const std::string& body) { return Forward(RequestOf(body)); }
  bool HasEnded(const std::string& body) {
    return !replies_[body].empty() && replies_[body].back().is_last;
  }
  /// The body of the last part, or the reason of the error.
  std::string EndOf(const std::string& body) {
    if (!Run([&] { return HasEnded(body); })) {
      return "no end";
    }
    const v1::Response& response = replies_[body].back().response;
    return response.has_error() ? response.error().reason() : response.http().body();
  }
  std::size_t Held() const { return a_.held.size() + b_.held.size(); }

  boost::asio::io_context io_;
  FakeReplica a_{io_, "a"};
  FakeReplica b_{io_, "b"};
  Replicas replicas_{io_.get_executor(), QuickReplicas()};
  ForwarderOptions options_;
  std::shared_ptr<Forwarder> forwarder_;
  std::map<std::string, std::vector<FrontReply>> replies_;
  std::string order_;  ///< First letters of the requests, in the order in which replies ended.
  int ended_ = 0;
};

}  // namespace scorecast::coordinator
