#pragma once

#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// The id of a request: the one that its client gives (the field X-Request-Id), if it is short and
/// has only characters that are harmless in a log and in a field; otherwise a random one.
std::string RequestId(std::string_view given);

}  // namespace scorecast::coordinator
