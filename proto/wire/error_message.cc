#include "proto/wire/error_message.h"

#include "proto/scorecast.pb.h"

namespace scorecast::proto {

void ToMessage(const Error& error, v1::Error& message) {
  message.set_code(error.code);
  message.set_reason(error.reason);
  message.set_message(error.message);
  message.set_param(error.param);
  if (error.retry_after_seconds) {
    message.set_retry_after_seconds(*error.retry_after_seconds);
  }
}

Error ErrorOf(const v1::Error& message) {
  Error error{message.code(), message.reason(), message.message(), message.param()};
  if (message.has_retry_after_seconds()) {
    error.retry_after_seconds = message.retry_after_seconds();
  }
  return error;
}

}  // namespace scorecast::proto
