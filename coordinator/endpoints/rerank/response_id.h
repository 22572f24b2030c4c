#pragma once

#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// The id of a response: the prefix and 32 random hexadecimal digits.
std::string NewResponseId(std::string_view prefix);

}  // namespace scorecast::coordinator
