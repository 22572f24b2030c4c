#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace scorecast::proto {

/// Where a TCP socket listens.
struct HostPort {
  std::string host;  ///< A name or an IP address, without brackets.
  std::string port;  ///< 1 to 65535, in digits.
};

/// Reads HOST:PORT; HOST may be an IPv6 address in brackets. Nothing if the text has another form.
std::optional<HostPort> ParseHostPort(std::string_view text);

}  // namespace scorecast::proto
