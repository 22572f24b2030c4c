#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/endpoints.h"
#include "coordinator/front/batch/response_sizes.h"
#include "coordinator/front/batch/run_replicas.h"
#include "coordinator/front/forwarder.h"
#include "coordinator/front/replica_pool.h"
#include "coordinator/transports/batch/line_computer.h"

namespace scorecast::coordinator {

/// How a forwarder takes lines to replicas: they have time, so they wait for replicas that are gone
/// or full.
ForwarderOptions ForwarderOptionsOfLines();

/// Lines of a batch that replicas compute. Each is an HTTP request, whose reply is in the record as
/// it is. A line whose replica is lost, drains or is full goes to another one.
///
/// How long a response may be is not known before it comes, so room is held for what is expected.
class ReplicaLines : public LineComputer {
 public:
  /// From now on the pool has no replicas but these. It outlives the object, and has
  /// ForwarderOptionsOfLines. The replicas know the run by the name `client`.
  ReplicaLines(ReplicaPool& pool, RunReplicas replicas, const std::string& client);
  /// No line may be in flight.
  ~ReplicaLines() override;

  EndpointList endpoints() const override { return Endpoints(); }
  std::int64_t max_values() const override { return replicas_.max_values; }
  void Begin(const std::shared_ptr<OpenLine>& line, LineRequest request) override;
  /// No line in flight gets a record any more.
  void StopSoon() override;
  bool is_stopping() const override { return is_stopping_; }
  void Cancel() override { StopSoon(); }

 private:
  /// A line whose response has not come.
  struct Sent {
    std::shared_ptr<OpenLine> line;
    const Endpoint* endpoint = nullptr;
    std::uint64_t id = 0;  ///< See Forwarder::Forward.
  };

  // Called on the pool's thread.
  void Send(const std::shared_ptr<OpenLine>& line, const Endpoint& endpoint, FrontRequest request);
  void OnReply(std::uint64_t number, FrontReply reply);

  ReplicaPool& pool_;
  const RunReplicas replicas_;
  const ClientId client_;
  std::atomic<bool> is_stopping_ = false;
  std::mutex mutex_;  ///< Guards `sizes_`.
  ResponseSizes sizes_;

  // Used on the pool's thread.
  std::map<std::uint64_t, Sent> sent_;
  std::uint64_t last_number_ = 0;
};

}  // namespace scorecast::coordinator
