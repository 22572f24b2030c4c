#pragma once

#include "proto/base/error.h"

namespace scorecast::v1 {
class Error;
}  // namespace scorecast::v1

namespace scorecast::proto {

void ToMessage(const Error& error, v1::Error& message);
/// The error that a message says.
Error ErrorOf(const v1::Error& message);

}  // namespace scorecast::proto
