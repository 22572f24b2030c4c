#include "coordinator/transports/http/request_path.h"

#include <optional>

#include "coordinator/request/request_error.h"
#include "coordinator/transports/http/field_value.h"

namespace scorecast::coordinator {
namespace {

std::optional<int> HexDigit(char c) {
  if (c >= '0' && c <= '9') {
    return c - '0';
  }
  const char lower = static_cast<char>(c | 0x20);
  if (lower >= 'a' && lower <= 'f') {
    return lower - 'a' + 10;
  }
  return std::nullopt;
}

proto::Error BadUrl(std::string_view target) {
  return BadRequest("bad_url", "The URL " + Quoted(target) + " is not a path.", "url");
}

}  // namespace

proto::Expected<std::string> PathOf(std::string_view target) {
  std::string_view path = target;
  if (path == "*") {
    return std::string(path);
  }
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (EqualsWithoutCase(path.substr(0, scheme.size()), scheme)) {
      path.remove_prefix(scheme.size());
      const std::size_t host_end = path.find_first_of("/?#");
      path =
          host_end == std::string_view::npos || path[host_end] != '/' ? "/" : path.substr(host_end);
    }
  }
  path = path.substr(0, path.find_first_of("?#"));
  if (!path.starts_with('/')) {
    return proto::Unexpected(BadUrl(target));
  }
  std::string decoded;
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      decoded += path[i];
      continue;
    }
    const auto high = i + 2 < path.size() ? HexDigit(path[i + 1]) : std::nullopt;
    const auto low = high ? HexDigit(path[i + 2]) : std::nullopt;
    if (!low) {
      return proto::Unexpected(BadUrl(target));
    }
    decoded += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  while (decoded.size() > 1 && decoded.ends_with('/')) {
    decoded.pop_back();
  }
  return decoded;
}

}  // namespace scorecast::coordinator
