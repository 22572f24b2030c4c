#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "proto/tls/tls_context.h"

struct ssl_st;

namespace scorecast::proto {

/// One TLS connection over a TCP socket, which it neither owns nor waits for. Calls never block,
/// whether or not the socket does, and each takes a bounded number of records, whatever the peer
/// sends. Not safe to use from several threads at the same time.
class TlsSession {
 public:
  enum class State {
    kDone,        ///< At least one byte was read or written, or the handshake has ended.
    kNeedsRead,   ///< To be called again, with the same arguments, when the socket is readable,
                  ///< which it may be already.
    kNeedsWrite,  ///< The same when it is writable.
    kEnded,       ///< The peer sends no more.
    kLost,        ///< The connection was reset, or failed in another way below TLS: see fault().
    kFailed,      ///< One side refuses what the other sent: see fault().
  };
  struct Result {
    State state = State::kDone;
    std::size_t bytes = 0;
  };

  /// `protocols` are those of ALPN that the socket speaks. A client that names others only is
  /// refused; one that names none is not.
  static TlsSession OfServer(const TlsContext& context, int socket,
                             std::vector<std::string> protocols);
  /// The server must have a certificate for `name`, a host's name or an IP address.
  static TlsSession OfClient(const TlsContext& context, int socket, const std::string& name,
                             std::vector<std::string> protocols);

  TlsSession(TlsSession&&) noexcept;
  TlsSession& operator=(TlsSession&&) noexcept;
  ~TlsSession();

  State Handshake();
  /// Reads bytes of at most one record, of 16 KiB.
  Result Read(std::span<char> into);
  Result Write(std::span<const char> from);
  /// Tells the peer, if the socket has room for it, that no more bytes will come.
  void ShutDown();

  /// Whether bytes have been decrypted that no read has taken.
  bool has_unread() const;
  /// After the handshake: the name of the peer's verified certificate, which is the first DNS name,
  /// mail address or URI of its SAN, or else its CN. Empty if there is no certificate or no name.
  std::string peer_name() const;
  /// Why a call failed, or the connection was lost.
  const std::string& fault() const;

  /// A callback of OpenSSL, for contexts of servers.
  static int ChooseProtocol(ssl_st* session, const unsigned char** out, unsigned char* out_length,
                            const unsigned char* in, unsigned int in_length, void*);

 private:
  struct Impl;

  TlsSession(const TlsContext& context, int socket, std::vector<std::string> protocols);
  /// Called before each call of OpenSSL.
  void BeginCall();
  State StateOf(int result);

  std::unique_ptr<Impl> impl_;
};

}  // namespace scorecast::proto
