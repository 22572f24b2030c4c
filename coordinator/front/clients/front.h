#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "coordinator/access/api_key.h"
#include "coordinator/front/clients/front_handler.h"
#include "coordinator/front/clients/front_status.h"
#include "coordinator/front/forwarder.h"
#include "coordinator/front/replica_list.h"
#include "coordinator/transports/connection/request_server.h"
#include "coordinator/transports/connection/socket_options.h"
#include "proto/base/expected.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

struct FrontOptions {
  ReplicaOptions replicas;
  ForwarderOptions forwarder;
  SocketOptions socket;
};

/// A front: a server for its clients, and its replicas. One thread does all but TLS handshakes, so
/// that no request waits for another thread to wake up. Several fronts use several cores.
class Front {
 public:
  /// Looks at the list at once, and begins to connect.
  Front(const FrontOptions& options, ReplicaList list);
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;

  /// Its clients come over sockets that it is told to listen to.
  RequestServer& server() { return *server_; }
  /// See Replicas::Drain. A 401 if it does not have the front's key. The same holds for threads as
  /// for Status.
  proto::Expected<std::size_t> Drain(const v1::Drain& drain);
  /// May be called on any thread. Another one waits for that of the front, which never waits.
  FrontStatus Status() const;
  bool is_draining() const { return handler_->is_draining(); }
  /// Ends every request whose reply has not ended with a 503.
  void RefuseAll() { handler_->RefuseAll(); }

 private:
  FrontStatus StatusNow() const;

  const KeyDigest key_;              ///< Of that which is shown to replicas.
  FrontHandler* handler_ = nullptr;  ///< The server's.
  std::optional<RequestServer> server_;
};

}  // namespace scorecast::coordinator
