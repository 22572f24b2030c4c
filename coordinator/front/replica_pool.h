#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/thread_pool.hpp>

#include "coordinator/front/forwarder.h"
#include "coordinator/front/replica_connection.h"
#include "coordinator/front/replica_list.h"
#include "coordinator/front/replica_watch.h"
#include "coordinator/front/replicas.h"

namespace scorecast::coordinator {

/// The replicas in a list, and a forwarder to them. Both are used on one thread, which runs the
/// executor of the pool. The functions may be called on any thread.
class ReplicaPool {
 public:
  /// Looks at the list at once, and begins to connect as soon as the executor runs.
  ReplicaPool(boost::asio::any_io_executor executor, const ReplicaOptions& replica_options,
              const ForwarderOptions& forwarder_options, ReplicaList list);

  ReplicaPool(const ReplicaPool&) = delete;
  ReplicaPool& operator=(const ReplicaPool&) = delete;

  /// What is posted to it is done in order.
  const boost::asio::any_io_executor& executor() const { return executor_; }
  /// Runs `work`, which does not wait, on the thread, and waits for it: at once if that is the
  /// calling thread. Throws what it throws.
  void Run(const std::function<void()>& work) const;
  /// Ends all connections, and drops requests without calling their handlers. Called once. The pool
  /// must not be destroyed before, and not while the thread runs.
  void Close();

  // Only used on the thread.
  Replicas& replicas() { return replicas_; }
  const std::shared_ptr<Forwarder>& forwarder() const { return forwarder_; }

 private:
  const boost::asio::any_io_executor executor_;
  Replicas replicas_;
  const std::shared_ptr<Forwarder> forwarder_;
  std::atomic<std::thread::id> thread_;  ///< Known when it has begun.
  std::optional<ReplicaWatch> watch_;
};

/// A pool with a thread of its own.
class ReplicaThread {
 public:
  ReplicaThread(const ReplicaOptions& replica_options, const ForwarderOptions& forwarder_options,
                ReplicaList list);
  ~ReplicaThread();

  ReplicaThread(const ReplicaThread&) = delete;
  ReplicaThread& operator=(const ReplicaThread&) = delete;

  ReplicaPool& pool() { return pool_; }

 private:
  boost::asio::thread_pool thread_{1};
  ReplicaPool pool_;
};

}  // namespace scorecast::coordinator
