#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "coordinator/front/forwarder.h"
#include "coordinator/front/replica_connection.h"
#include "coordinator/front/replica_list.h"
#include "coordinator/front/replica_watch.h"
#include "coordinator/front/replicas.h"

namespace scorecast::coordinator {

/// The replicas in a list, a forwarder to them, and the thread on which both are used. The
/// functions are called on other threads.
class ReplicaPool {
 public:
  /// Looks at the list at once, and begins to connect.
  ReplicaPool(const ReplicaOptions& replica_options, const ForwarderOptions& forwarder_options,
              ReplicaList list);
  /// Ends all connections, and drops requests without calling their handlers.
  ~ReplicaPool();

  ReplicaPool(const ReplicaPool&) = delete;
  ReplicaPool& operator=(const ReplicaPool&) = delete;

  /// That of the thread. What is posted to it is done in order.
  boost::asio::any_io_executor executor() const { return io_.get_executor(); }
  /// Runs `work`, which does not wait, on the thread, and waits for it. Throws what it throws.
  void Run(const std::function<void()>& work) const;

  // Only used on the thread.
  Replicas& replicas() { return replicas_; }
  const Replicas& replicas() const { return replicas_; }
  const std::shared_ptr<Forwarder>& forwarder() const { return forwarder_; }

 private:
  mutable boost::asio::io_context io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  Replicas replicas_;
  const std::shared_ptr<Forwarder> forwarder_;
  std::thread thread_;
  std::optional<ReplicaWatch> watch_;
};

}  // namespace scorecast::coordinator
