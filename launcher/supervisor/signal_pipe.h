#pragma once

#include <initializer_list>
#include <vector>

#include "launcher/supervisor/descriptor.h"

namespace scorecast::launcher {

/// Receives signals as bytes of a pipe, so that a loop can wait for them and for sockets together.
/// At most one instance at a time. A signal that this process ignores (SIGHUP under nohup) stays
/// ignored. The exception is SIGCHLD: if it were ignored, the system would hide how children end.
/// Programs that this process executes have the default actions of the signals received here.
class SignalPipe {
 public:
  explicit SignalPipe(std::initializer_list<int> signals);
  ~SignalPipe();
  SignalPipe(const SignalPipe&) = delete;
  SignalPipe& operator=(const SignalPipe&) = delete;

  /// Readable if a signal has come.
  int descriptor() const { return read_.get(); }
  /// The signals that have come since the last call, without waiting.
  std::vector<int> Take();

 private:
  Descriptor read_;
  Descriptor write_;
  std::vector<int> caught_;
};

}  // namespace scorecast::launcher
