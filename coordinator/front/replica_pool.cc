#include "coordinator/front/replica_pool.h"

#include <exception>
#include <future>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

namespace scorecast::coordinator {

ReplicaPool::ReplicaPool(const ReplicaOptions& replica_options,
                         const ForwarderOptions& forwarder_options, ReplicaList list)
    : work_(io_.get_executor()),
      replicas_(io_.get_executor(), replica_options),
      forwarder_(std::make_shared<Forwarder>(io_.get_executor(), replicas_, forwarder_options)),
      thread_([this] { io_.run(); }) {
  Run([this] { forwarder_->Start(); });
  watch_.emplace(
      std::move(list), io_.get_executor(),
      [this](const std::vector<ListedReplica>& replicas) { replicas_.SetList(replicas); });
}

ReplicaPool::~ReplicaPool() {
  Run([this] {
    watch_.reset();
    forwarder_->Close();
    replicas_.Close();
  });
  work_.reset();
  io_.stop();
  thread_.join();
}

void ReplicaPool::Run(const std::function<void()>& work) const {
  std::promise<void> done;
  boost::asio::post(io_, [&] {
    try {
      work();
      done.set_value();
    } catch (...) {
      done.set_exception(std::current_exception());
    }
  });
  done.get_future().get();
}

}  // namespace scorecast::coordinator
