#pragma once

#include <chrono>
#include <memory>
#include <string>

struct ssl_ctx_st;

namespace scorecast::proto {

/// A server's files, in PEM.
struct TlsServerFiles {
  std::string certificate;  ///< Followed by the certificates between it and that of its CA.
  std::string key;          ///< Not encrypted.
  std::string client_ca;    ///< Certificates of the CAs of clients; empty: clients need none.
};

/// A client's files, in PEM. Each may be empty.
struct TlsClientFiles {
  std::string ca;           ///< Certificates of the CAs of servers; empty: those of the system.
  std::string certificate;  ///< As a server's.
  std::string key;
};

/// Certificates, keys and rules of TLS connections: TLS 1.2 or 1.3, ciphers that authenticate and
/// have forward secrecy, keys of 112 bits of security or more (RSA: 2048 bits). Never changes, and
/// copies share it.
class TlsContext {
 public:
  // Throw StartupError, which names the file: it cannot be read, key and certificate do not belong
  // together, or a certificate has expired.

  static TlsContext OfServer(const TlsServerFiles& files);
  static TlsContext OfClient(const TlsClientFiles& files);

  ssl_ctx_st* get() const { return context_.get(); }
  /// End of the validity of a server's certificate. A time in nanoseconds would not reach the year
  /// 2400.
  std::chrono::sys_seconds valid_until() const { return valid_until_; }
  /// Whether its validity has begun. A clock that is wrong is a common reason if it has not.
  bool is_valid_yet() const { return is_valid_yet_; }

 private:
  explicit TlsContext(bool is_server);

  void SetOwn(const std::string& certificate, const std::string& key);
  void CheckDates(const std::string& certificate);

  std::shared_ptr<ssl_ctx_st> context_;
  std::chrono::sys_seconds valid_until_;
  bool is_valid_yet_ = true;
};

/// The reason of the first of OpenSSL's errors that wait, which are then dropped. `otherwise` if
/// there is none.
std::string TakeTlsFault(const std::string& otherwise);

}  // namespace scorecast::proto
