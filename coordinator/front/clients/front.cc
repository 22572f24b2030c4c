#include "coordinator/front/clients/front.h"

#include <utility>

namespace scorecast::coordinator {

Front::Front(const FrontOptions& options, ReplicaList list)
    : key_(KeyDigest::Of(options.replicas.front_key)) {
  const auto make_handler = [&](const boost::asio::any_io_executor& executor) {
    auto handler = std::make_unique<FrontHandler>(
        options.socket, std::make_unique<ReplicaPool>(executor, options.replicas, options.forwarder,
                                                      std::move(list)));
    handler_ = handler.get();
    return handler;
  };
  server_.emplace(make_handler, options.socket, /*io_threads=*/1);
}

proto::Expected<std::size_t> Front::Drain(const v1::Drain& drain) {
  if (KeyDigest::Of(drain.front_key()) != key_) {
    return proto::Unexpected(
        proto::Error{401, "unauthorized",
                     "The key is not the one that this front shows to its replicas.", "front_key"});
  }
  proto::Expected<std::size_t> requests = std::size_t{0};
  ReplicaPool& pool = handler_->pool();
  pool.Run([&] { requests = pool.replicas().Drain(drain.replica(), drain.undo()); });
  return requests;
}

FrontStatus Front::Status() const {
  FrontStatus status;
  handler_->pool().Run([&] { status = StatusNow(); });
  return status;
}

FrontStatus Front::StatusNow() const {
  FrontStatus status;
  const Replicas& replicas = handler_->pool().replicas();
  const Forwarder& forwarder = *handler_->pool().forwarder();
  for (const auto& [name, replica] : replicas.listed()) {
    const ReplicaConnection& connection = *replica->connection;
    ReplicaStatus& one = status.replicas.emplace_back();
    one.name = name;
    one.is_connected = connection.is_ready();
    one.is_drained = replicas.IsDrained(name);
    one.model = one.is_connected ? connection.hello().model() : "";
    one.is_ready = replica->is_there && replica->load.is_usable() && replica->difference.empty();
    one.wait_seconds = replica->load.wait_seconds();
    one.in_flight = connection.in_flight();
    one.losses = replicas.LossesOf(name);
    one.is_set_aside = replica->aside_timer != nullptr;
    one.bad_replies = replicas.BadRepliesOf(name);
  }
  for (const ReplicaGroup& group : replicas.groups().groups()) {
    status.models.push_back(group.model());
  }
  status.waiting = forwarder.waiting_by_model();
  status.in_flight = forwarder.in_flight();
  return status;
}

}  // namespace scorecast::coordinator
