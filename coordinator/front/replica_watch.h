#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/any_io_executor.hpp>

#include "coordinator/access/file_watch.h"
#include "coordinator/front/replica_list.h"

namespace scorecast::coordinator {

/// Looks at the list of a front's replicas from time to time, on a thread of its own, because a
/// network's file system may take its time.
class ReplicaWatch {
 public:
  using Changed = std::function<void(const std::vector<ListedReplica>& replicas)>;

  /// Looks at once. `changed` is called on the executor, with the replicas that are listed, at
  /// first and whenever they have changed. Not any more after the watch was destroyed there.
  ReplicaWatch(ReplicaList list, const boost::asio::any_io_executor& executor, Changed changed,
               std::chrono::milliseconds interval = std::chrono::seconds(1));

 private:
  void Tell() const;

  ReplicaList list_;
  const boost::asio::any_io_executor executor_;
  const std::shared_ptr<const Changed> changed_;
  std::optional<FileWatch> watch_;  ///< Last, so that it ends before the others.
};

}  // namespace scorecast::coordinator
