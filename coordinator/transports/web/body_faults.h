#pragma once

#include <cstdint>
#include <string>

#include "proto/base/count.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

inline proto::Error BodyTooLarge(std::int64_t limit) {
  return {413, "request_too_large",
          "The request is too large: more than " + proto::Count(limit, "byte") + ".", ""};
}

inline proto::Error Overloaded() {
  return {503, "overloaded", "The server is reading too many large requests.", "", 1};
}

}  // namespace scorecast::coordinator
