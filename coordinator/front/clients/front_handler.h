#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "coordinator/front/clients/passed_format.h"
#include "coordinator/front/forwarder.h"
#include "coordinator/front/replica_pool.h"
#include "coordinator/transports/connection/call_handler.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// Hands the calls of a front's clients to its Forwarder, and the replies of replicas back. The
/// formats of all calls are PassedFormats. Parts of a reply are sent as they come.
///
/// Its functions may be called on any thread. What the forwarder has to do with a call is done on
/// the executor of the pool, and what is written to the client at a turn of the connection.
class FrontHandler : public CallHandler {
 public:
  FrontHandler(const SocketOptions& options, std::unique_ptr<ReplicaPool> pool);

  void Handle(std::shared_ptr<ConnectionCall> call, std::optional<proto::Error> fault) override;
  void Cancel(const std::vector<std::shared_ptr<Call>>& calls) override;
  void NoteIoWait(Clock::duration /*wait*/) override {}
  void StartDraining() override { is_draining_ = true; }
  bool is_draining() const override { return is_draining_; }
  /// Closes the pool, too.
  void Finish() override;

  ReplicaPool& pool() { return *pool_; }
  /// Starts draining, and ends every call whose reply has not ended with a 503.
  void RefuseAll();

 private:
  /// If a client does not read its reply and more bytes wait for it, its request is ended.
  static constexpr std::size_t kMaxUnsentBytes = std::size_t{16} << 20;

  /// A call whose reply has not ended.
  struct Passed {
    std::shared_ptr<ConnectionCall> call;
    std::vector<Held> held;  ///< The bytes of the request, which may be sent to another replica.
    std::uint64_t id = 0;    ///< See Forwarder::Forward.
    std::atomic<std::size_t> unsent = 0;
  };
  using PassedPointer = std::shared_ptr<Passed>;

  // On the executor.

  void Pass(const std::shared_ptr<ConnectionCall>& call, PassedMessage message);
  void OnPart(const PassedPointer& passed, FrontReply reply);
  /// Ends the reply with an error of this front.
  void EndWith(const PassedPointer& passed, const proto::Error& error);

  void Refuse(const std::shared_ptr<ConnectionCall>& call, const proto::Error& error);
  /// Lets a part be written when it is the connection's turn.
  void Send(const PassedPointer& passed, FrontReply reply);
  void NoteRefusal(const Endpoint* endpoint, const ClientName& client,
                   const proto::Error& error) override;

  const std::shared_ptr<const ApiKeys> keys_;  ///< See SocketOptions.
  const std::unique_ptr<ReplicaPool> pool_;
  std::atomic<bool> is_draining_ = false;
  std::map<const Call*, PassedPointer> passed_;  ///< Used on the executor.
};

}  // namespace scorecast::coordinator
