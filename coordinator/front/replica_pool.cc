#include "coordinator/front/replica_pool.h"

#include <exception>
#include <future>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

namespace scorecast::coordinator {

ReplicaPool::ReplicaPool(boost::asio::any_io_executor executor,
                         const ReplicaOptions& replica_options,
                         const ForwarderOptions& forwarder_options, ReplicaList list)
    : executor_(std::move(executor)),
      replicas_(executor_, replica_options),
      forwarder_(std::make_shared<Forwarder>(executor_, replicas_, forwarder_options)) {
  watch_.emplace(std::move(list), executor_, [this](const std::vector<ListedReplica>& replicas) {
    replicas_.SetList(replicas);
  });
  boost::asio::post(executor_, [this] {
    thread_ = std::this_thread::get_id();
    forwarder_->Start();
  });
}

void ReplicaPool::Run(const std::function<void()>& work) const {
  if (thread_.load() == std::this_thread::get_id()) {
    work();
    return;
  }
  std::promise<void> done;
  boost::asio::post(executor_, [&] {
    try {
      work();
      done.set_value();
    } catch (...) {
      done.set_exception(std::current_exception());
    }
  });
  done.get_future().get();
}

void ReplicaPool::Close() {
  Run([this] {
    watch_.reset();
    forwarder_->Close();
    replicas_.Close();
  });
}

ReplicaThread::ReplicaThread(const ReplicaOptions& replica_options,
                             const ForwarderOptions& forwarder_options, ReplicaList list)
    : pool_(thread_.get_executor(), replica_options, forwarder_options, std::move(list)) {}

ReplicaThread::~ReplicaThread() {
  pool_.Close();
  thread_.stop();
  thread_.join();
}

}  // namespace scorecast::coordinator
