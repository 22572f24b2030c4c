#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <boost/asio/ip/address.hpp>

#include "coordinator/schedule/client_id.h"
#include "coordinator/transports/connection/fair_pool.h"
#include "coordinator/transports/connection/tls_files.h"
#include "coordinator/transports/connection/tls_handshake.h"

namespace scorecast::coordinator {

/// All TLS handshakes of a server. Those of an address are bounded in number: further ones wait,
/// without a byte of memory for OpenSSL, until one of the address has ended. If all addresses
/// together have too many, the oldest one of the address with the most ends. So a client waits, and
/// loses a handshake, only because of what comes from its own address. Safe to use from any thread.
class TlsHandshakes {
 public:
  static constexpr std::size_t kMax = 4096;
  static constexpr std::size_t kMaxOfAddress = 256;

  /// Computes with so many threads.
  TlsHandshakes(int threads, std::chrono::milliseconds timeout);

  /// Begins a handshake, at once or when it is its turn, with what `files` has then. `done` is
  /// called once, on the socket's executor. `files` must outlive the handshakes.
  void Add(TlsHandshake::Socket socket, const ClientId& client,
           const boost::asio::ip::address& address, std::vector<std::string> protocols,
           const TlsFiles& files, TlsHandshake::Done done);
  /// Ends all as failed, and further ones when they are added.
  void CancelAll();

 private:
  struct OfAddress;

  /// A handshake, from Add until it has ended.
  struct Entry {
    boost::asio::ip::address address;
    const TlsFiles* files = nullptr;
    std::shared_ptr<TlsHandshake> handshake;
    bool is_under_way = false;
  };
  using EntryPointer = std::shared_ptr<Entry>;

  struct OfAddress {
    std::list<EntryPointer> under_way;  ///< The oldest first.
    std::deque<EntryPointer> waiting;
  };

  // Locked by the caller.

  void Start(OfAddress& own, const EntryPointer& entry);
  void EndOldest();
  void Remove(OfAddress& own, const EntryPointer& entry);

  void OnEnd(const EntryPointer& entry);

  const std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::map<boost::asio::ip::address, OfAddress> addresses_;
  std::size_t under_way_ = 0;
  bool is_ended_ = false;
  FairPool pool_;
};

}  // namespace scorecast::coordinator
