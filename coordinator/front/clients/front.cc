#include "coordinator/front/clients/front.h"

#include <algorithm>
#include <functional>
#include <future>
#include <string_view>
#include <utility>
#include <vector>

#include <boost/asio/post.hpp>

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;

/// Runs `work` on the thread of an executor, and waits for it.
void RunOn(asio::io_context& io, const std::function<void()>& work) {
  std::promise<void> done;
  asio::post(io, [&] {
    work();
    done.set_value();
  });
  done.get_future().wait();
}

/// Takes the same time wherever the texts differ.
bool IsSame(std::string_view shown, std::string_view key) {
  unsigned difference = shown.size() == key.size() ? 0 : 1;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    difference |= static_cast<unsigned char>(shown[i]) ^
                  static_cast<unsigned char>(key[i % std::max<std::size_t>(key.size(), 1)]);
  }
  return difference == 0;
}

}  // namespace

Front::Front(const FrontOptions& options, ReplicaList list)
    : key_(options.replicas.front_key),
      work_(io_.get_executor()),
      replicas_(io_.get_executor(), options.replicas),
      forwarder_(std::make_shared<Forwarder>(io_.get_executor(), replicas_, options.forwarder)),
      thread_([this] { io_.run(); }) {
  RunOn(io_, [this] { forwarder_->Start(); });
  auto handler =
      std::make_unique<FrontHandler>(options.socket, io_.get_executor(), replicas_, forwarder_);
  handler_ = handler.get();
  server_.emplace(std::move(handler), options.socket, options.io_threads);
  watch_.emplace(
      std::move(list), io_.get_executor(),
      [this](const std::vector<ListedReplica>& replicas) { replicas_.SetList(replicas); });
}

Front::~Front() {
  server_.reset();
  RunOn(io_, [this] {
    watch_.reset();
    forwarder_->Close();
    replicas_.Close();
  });
  work_.reset();
  io_.stop();
  thread_.join();
}

proto::Expected<std::size_t> Front::Drain(const v1::Drain& drain) {
  if (!IsSame(drain.front_key(), key_)) {
    return proto::Unexpected(
        proto::Error{401, "unauthorized",
                     "The key is not the one that this front shows to its replicas.", "front_key"});
  }
  proto::Expected<std::size_t> requests = std::size_t{0};
  RunOn(io_, [&] { requests = replicas_.Drain(drain.replica(), drain.undo()); });
  return requests;
}

FrontStatus Front::Status() const {
  FrontStatus status;
  RunOn(io_, [&] { status = StatusNow(); });
  return status;
}

FrontStatus Front::StatusNow() const {
  FrontStatus status;
  for (const auto& [name, replica] : replicas_.listed()) {
    const ReplicaConnection& connection = *replica->connection;
    ReplicaStatus& one = status.replicas.emplace_back();
    one.name = name;
    one.is_connected = connection.is_ready();
    one.is_drained = replicas_.IsDrained(name);
    one.model = one.is_connected ? connection.hello().model() : "";
    one.is_ready = replica->is_there && replica->load.is_usable() && replica->difference.empty();
    one.wait_seconds = replica->load.wait_seconds();
    one.in_flight = connection.in_flight();
    one.losses = replicas_.LossesOf(name);
  }
  for (const ReplicaGroup& group : replicas_.groups().groups()) {
    status.models.push_back(group.model());
  }
  status.waiting = forwarder_->waiting_by_model();
  status.in_flight = forwarder_->in_flight();
  return status;
}

}  // namespace scorecast::coordinator
