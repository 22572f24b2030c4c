#pragma once

#include "proto/base/error.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

/// The error of a reply.
inline proto::Error ErrorOf(const v1::Error& message) {
  proto::Error error{message.code(), message.reason(), message.message(), message.param()};
  if (message.has_retry_after_seconds()) {
    error.retry_after_seconds = message.retry_after_seconds();
  }
  return error;
}

}  // namespace scorecast::coordinator
