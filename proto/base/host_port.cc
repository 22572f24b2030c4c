#include "proto/base/host_port.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <system_error>

namespace scorecast::proto {

std::optional<HostPort> ParseHostPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  // The port is checked here, because the resolver would take 70000 for 4464.
  std::uint16_t number = 0;
  const auto [stop, fault] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (fault != std::errc() || stop != port.data() + port.size() || number == 0) {
    return std::nullopt;
  }
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return HostPort{std::string(host), std::string(port)};
}

}  // namespace scorecast::proto
