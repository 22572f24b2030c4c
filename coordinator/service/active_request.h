#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/schedule/job.h"
#include "coordinator/service/held_bytes.h"
#include "coordinator/service/response_sink.h"

namespace scorecast::coordinator {

/// A request from its arrival to its end. It ends once: with its response, or earlier, when its
/// deadline passes, its client leaves or the service shuts down. Whoever calls End first responds;
/// for all others the request is over. Safe to use from any thread.
class ActiveRequest {
 public:
  /// What a request holds until it ends.
  struct Parts {
    std::shared_ptr<ResponseSink> sink;
    std::unique_ptr<EndpointRequest> parsed;  ///< Null once TakeParsed was called.
    Held bytes;                               ///< Those of `parsed`.
    Held room;                                ///< The bound on the reply's bytes.
    JobTicket ticket = 0;                     ///< Scheduler::kNoTicket if no job is queued.
  };

  ActiveRequest(const Endpoint& endpoint, Clock::time_point arrived,
                std::shared_ptr<ResponseSink> sink);

  const Endpoint& endpoint() const { return endpoint_; }
  Clock::time_point arrived() const { return arrived_; }
  /// See ResponseSink::client.
  const ClientId& client() const { return client_; }
  /// See ResponseSink::request_id.
  const std::string& id() const { return id_; }
  /// Upper bound on the bytes of the reply. Set by Accept.
  std::int64_t reply_bytes() const { return reply_bytes_; }
  /// Absent if the request names none. Set by Accept.
  std::optional<Clock::time_point> deadline() const { return deadline_; }

  /// Records the checked parts of the request. Called once, before other threads know it.
  void Accept(std::unique_ptr<EndpointRequest> parsed, Held bytes, std::int64_t reply_bytes,
              Held room, std::optional<Clock::time_point> deadline);

  /// True once the request is over.
  const std::atomic<bool>& is_over() const { return is_over_; }

  /// Takes the parsed request and its bytes, in order to prepare it. Returns nothing if the request
  /// is over. Called at most once.
  std::optional<Parts> TakeParsed();
  /// Passes a delta to the sink, unless the request is over.
  void Delta(std::size_t output, CompletionDelta delta);
  /// Records the ticket of the queued job. False if the request is over: the caller must then
  /// cancel the ticket.
  bool Queued(JobTicket ticket);

  /// Ends the request. Returns what it held to the first caller, who must respond to the sink, and
  /// nothing to all others.
  std::optional<Parts> End();

 private:
  const Endpoint& endpoint_;
  const Clock::time_point arrived_;
  const ClientId client_;
  const std::string id_;
  std::int64_t reply_bytes_ = 0;
  std::optional<Clock::time_point> deadline_;
  std::atomic<bool> is_over_ = false;
  std::mutex mutex_;
  Parts parts_;
};

}  // namespace scorecast::coordinator
