#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/endpoints.h"
#include "coordinator/endpoints/response_sink.h"
#include "coordinator/request/server_options.h"
#include "coordinator/request/value_limit.h"
#include "coordinator/schedule/scheduler.h"
#include "coordinator/text/tokenizer.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// The only path from a request to its response, for every transport and every endpoint. Safe to
/// call from any number of threads.
class RequestService {
 public:
  /// The arguments must outlive the service. `tokenizer` may be null. `options.delimiter`, if set,
  /// is in the model's vocabulary.
  RequestService(const proto::ModelConfig& config, const Tokenizer* tokenizer,
                 const ServerOptions& options, Scheduler& scheduler,
                 EndpointList endpoints = Endpoints());

  EndpointList endpoints() const { return endpoints_; }
  // Both return null if no endpoint matches. The field 0 (v1::Request::ENDPOINT_NOT_SET) matches
  // none.
  const Endpoint* FindByUrl(std::string_view url) const;
  const Endpoint* FindByMessageField(int field) const;

  /// Upper bound on the values of a request: see MaxValues.
  std::int64_t max_values() const { return MaxValues(config_, options_); }
  /// See EndpointRequest::ResponseBytesBound.
  std::int64_t ResponseBytesBound(const EndpointRequest& request) const {
    return request.ResponseBytesBound(config_);
  }

  /// Checks, tokenizes and queues on the calling thread. The deadline and `total_ms` count from
  /// `arrived`. A request with a long response is refused if the held bytes of `sink` have no room
  /// for it: with a 503, or with a 413 if they could never have room. Returns the ticket for
  /// Cancel, or kNoTicket if the response is ready already.
  Scheduler::Ticket Begin(const Endpoint& endpoint, ParsedRequest parsed, Clock::time_point arrived,
                          const std::shared_ptr<ResponseSink>& sink);

  /// Drops those of the requests that still wait to be computed. Their response is a 499.
  void Cancel(std::vector<Scheduler::Ticket> tickets) { scheduler_.Cancel(std::move(tickets)); }

  /// From now on every new request gets a 503.
  void StartDraining() { draining_ = true; }

  /// See Scheduler.
  void WaitForRoom() { scheduler_.WaitForRoom(); }
  void WaitIdle() { scheduler_.WaitIdle(); }

 private:
  const proto::ModelConfig& config_;
  const Tokenizer* tokenizer_;
  const ServerOptions& options_;
  Scheduler& scheduler_;
  const EndpointList endpoints_;
  std::atomic<bool> draining_ = false;
};

}  // namespace scorecast::coordinator
