#pragma once

#include <mutex>
#include <string>

#include "proto/tls/tls_context.h"

namespace scorecast::coordinator {

/// A server's certificates and keys.
class TlsFiles {
 public:
  /// Throws StartupError: see TlsContext.
  explicit TlsFiles(proto::TlsServerFiles files);

  /// What a new connection gets. Any thread may call it.
  proto::TlsContext current() const;

  /// Reads the files again if one of them has changed (see FileMarks): all of them together, or, if
  /// one is bad, none; new connections then still get the old ones, and the log says so. Called by
  /// one thread at a time.
  void Reload();

 private:
  std::string CurrentMarks() const;

  const proto::TlsServerFiles files_;
  std::string marks_;
  mutable std::mutex mutex_;
  proto::TlsContext current_;
};

}  // namespace scorecast::coordinator
