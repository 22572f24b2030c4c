#include "coordinator/front/replica_watch.h"

#include <utility>

#include <boost/asio/post.hpp>

namespace scorecast::coordinator {

ReplicaWatch::ReplicaWatch(ReplicaList list, const boost::asio::any_io_executor& executor,
                           Changed changed, std::chrono::milliseconds interval)
    : list_(std::move(list)),
      executor_(executor),
      changed_(std::make_shared<const Changed>(std::move(changed))) {
  list_.Look();
  Tell();
  std::vector<FileWatch::Look> looks = {[this] {
    if (list_.Look()) {
      Tell();
    }
  }};
  watch_.emplace(std::move(looks), interval);
}

void ReplicaWatch::Tell() const {
  boost::asio::post(executor_, [weak = std::weak_ptr(changed_), replicas = list_.replicas()] {
    if (const auto changed = weak.lock()) {
      (*changed)(replicas);
    }
  });
}

}  // namespace scorecast::coordinator
