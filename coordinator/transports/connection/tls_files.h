#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "proto/tls/tls_context.h"

namespace scorecast::coordinator {

/// A server's certificates and keys, which are read again when one of the files changes: all of
/// them together, or, if one is bad, none; new connections then still get the old ones, and the log
/// says so. A file counts as changed if its time, its size or the file that its name stands for
/// did. Safe to use from any thread.
class TlsFiles {
 public:
  /// Looks for changes each `interval`, on a thread of its own. Throws StartupError: see
  /// TlsContext.
  explicit TlsFiles(proto::TlsServerFiles files,
                    std::chrono::milliseconds interval = std::chrono::seconds(5));
  ~TlsFiles();

  TlsFiles(const TlsFiles&) = delete;
  TlsFiles& operator=(const TlsFiles&) = delete;

  /// What a new connection gets.
  proto::TlsContext current() const;

 private:
  /// What differs after a change.
  std::string Marks() const;
  void Watch(std::chrono::milliseconds interval);
  void ReadAgain();

  const proto::TlsServerFiles files_;
  std::string marks_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  proto::TlsContext current_;
  bool is_ending_ = false;
  std::thread thread_;
};

}  // namespace scorecast::coordinator
