#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_set>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace scorecast::coordinator {

/// Reads what trusted proxies send before their clients' bytes: the header of the PROXY protocol,
/// if there is one. All other bytes stay in the socket.
class ProxyGreetings {
 public:
  using Socket = boost::asio::ip::tcp::socket;
  using Address = boost::asio::ip::address;
  /// `client` is the proxy if it names no other.
  using Greeted = std::function<void(Socket socket, const Address& client)>;

  /// `executor` runs one handler at a time.
  explicit ProxyGreetings(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  /// Calls `greeted` on the executor when the first bytes of a proxy have arrived, or when none
  /// have for some seconds, because the proxy may have connected in advance. Closes the socket if
  /// the bytes begin as a header and are none. Called on any thread.
  void Await(Socket socket, const Address& proxy, Greeted greeted);
  /// How many sockets are awaited. Called on any thread.
  std::size_t awaited() const { return count_; }
  /// Closes the sockets that are awaited, and those of all later calls. Called on any thread.
  void Stop();

 private:
  struct Greeting;

  void Begin(const std::shared_ptr<Greeting>& greeting);
  /// Looks at the bytes when there are any.
  void AwaitBytes(const std::shared_ptr<Greeting>& greeting);
  void Look(const std::shared_ptr<Greeting>& greeting);
  /// The greeting is over: with a client, or, if that is null, without one.
  void End(const std::shared_ptr<Greeting>& greeting, const Address* client);

  const boost::asio::any_io_executor executor_;
  std::atomic<std::size_t> count_ = 0;  ///< Of those that have not ended.
  // Used on the executor.
  std::unordered_set<std::shared_ptr<Greeting>> awaited_;
  bool is_stopped_ = false;
};

}  // namespace scorecast::coordinator
