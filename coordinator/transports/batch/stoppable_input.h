#pragma once

#include <memory>

#include "coordinator/transports/batch/files/byte_streams.h"

namespace scorecast::coordinator {

/// Standard input, which another thread can end: a program at the other end of a pipe may write
/// nothing for any time.
class StoppableInput {
 public:
  /// Throws StartupError.
  StoppableInput();
  ~StoppableInput();
  StoppableInput(const StoppableInput&) = delete;
  StoppableInput& operator=(const StoppableInput&) = delete;

  /// Its bytes. Must not outlive this object. After Stop they are at their end.
  std::unique_ptr<ByteSource> MakeSource() const;

  /// Any thread may call it.
  void Stop() const;

 private:
  int stop_ = -1;  ///< An eventfd, which can be read once Stop was called.
};

}  // namespace scorecast::coordinator
