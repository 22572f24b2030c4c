#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include <boost/asio/io_context.hpp>

#include "coordinator/schedule/client_id.h"
#include "coordinator/transports/connection/fair_share.h"

namespace scorecast::coordinator {

class TurnExecutor;

/// The order in which the threads of an io_context run the handlers of connections. A turn is one
/// handler. The networks of clients share the threads' time equally, and so do the addresses of a
/// network and the connections of an address: see FairShare. The handlers of one connection run one
/// at a time and in order.
///
/// The threads run io_context::run. A handler that is to run waits here, and a token in the
/// io_context stands for a thread that is to take turns, so the sockets are polled between the
/// turns. There are at most as many tokens as threads.
///
/// Must outlive its executors and be destroyed before the io_context. Safe to use from any thread.
class IoTurns {
 public:
  class Line;

  /// A handler that waits for its turn.
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void Run() = 0;

   private:
    friend class Line;
    std::unique_ptr<Handler> next_;  ///< The next one in the line.
  };

  /// The handlers of one connection that wait.
  class Line : public FairShare, public std::enable_shared_from_this<Line> {
   public:
    /// `group` is the share in which `parent` is one of a client.
    Line(IoTurns& turns, FairShare& parent, FairShare& group)
        : FairShare(parent), turns_(turns), group_(group) {}

    IoTurns& turns() const { return turns_; }

   private:
    friend class IoTurns;

    void Push(std::unique_ptr<Handler> handler);
    std::unique_ptr<Handler> Pop();

    IoTurns& turns_;
    FairShare& group_;
    std::optional<ClientId> next_client_;  ///< See IoTurns::Move.
    std::unique_ptr<Handler> first_;
    Handler* last_ = nullptr;
    std::shared_ptr<Line> self_;  ///< Set while it waits or is under way.
  };

  IoTurns(boost::asio::io_context& io, int threads) : io_(io), threads_(threads) {}
  /// The handlers that wait are destroyed. The threads must have ended.
  ~IoTurns();

  IoTurns(const IoTurns&) = delete;
  IoTurns& operator=(const IoTurns&) = delete;

  boost::asio::io_context& io() const { return io_; }

  /// For one connection of a client.
  TurnExecutor ForClient(const ClientId& client);
  /// For one connection that asks for the state of the service. All of these have a share beside
  /// that of all clients, so a few requests have their turns next, whatever clients do.
  TurnExecutor ForProbe(const ClientId& client);
  /// For what is done for no client, such as accepting: it has a share beside that of all clients.
  TurnExecutor ForServer();

  // For the executors.

  void Add(Line& line, std::unique_ptr<Handler> handler);
  /// Lets the line take turns as one of a client's connections from the end of its turn on. Called
  /// during that turn, of a line that ForClient or ForProbe has made.
  void Move(Line& line, const ClientId& client);
  /// Whether the calling thread runs a handler of the line.
  static bool IsRunning(const Line& line);

 private:
  std::shared_ptr<Line> NewLine(FairShare& parent, FairShare& group);
  static FairShare& ShareOf(FairShare& group, const ClientId& client) {
    return group.Named(client.network).Named(client.address);
  }
  /// Posts a token if there is one more thread for it. Locked by the caller.
  bool TakeToken();
  void Take();

  boost::asio::io_context& io_;
  const int threads_;

  std::mutex mutex_;
  FairShare root_;
  FairShare clients_{root_};
  FairShare probes_{root_};
  FairShare server_{root_};
  int tokens_ = 0;
};

}  // namespace scorecast::coordinator
