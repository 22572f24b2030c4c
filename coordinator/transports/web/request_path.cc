#include "coordinator/transports/web/request_path.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "coordinator/request/request_error.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/letter_case.h"

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

/// `what` the target is not, such as "a path".
proto::Error BadUrl(std::string_view target, const std::string& what) {
  return BadRequest("bad_url", "The URL " + Quoted(target) + " is not " + what + ".", "url");
}

/// What follows the scheme of a URL; nothing if the target has none.
std::optional<std::string_view> BehindScheme(std::string_view target) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (proto::EqualsWithoutCase(target.substr(0, scheme.size()), scheme)) {
      return target.substr(scheme.size());
    }
  }
  return std::nullopt;
}

std::size_t AuthorityEnd(std::string_view behind_scheme) {
  return std::min(behind_scheme.find_first_of("/?#"), behind_scheme.size());
}

bool IsVersion(std::string_view segment) { return segment == "v1" || segment == "v2"; }

}  // namespace

std::string_view AuthorityOf(std::string_view target) {
  const auto behind = BehindScheme(target);
  return behind ? behind->substr(0, AuthorityEnd(*behind)) : std::string_view();
}

proto::Expected<std::string> PathOf(std::string_view target) {
  std::string_view path = target;
  if (path == "*") {
    return std::string(path);
  }
  if (const auto behind = BehindScheme(path)) {
    path = behind->substr(AuthorityEnd(*behind));
    if (!path.starts_with('/')) {
      path = "/";
    }
  }
  path = path.substr(0, path.find_first_of("?#"));
  if (!path.starts_with('/')) {
    return proto::Unexpected(BadUrl(target, "a path"));
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
      return proto::Unexpected(BadUrl(target, "a path"));
    }
    decoded += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  // It may name a model, whose name goes into messages and JSON.
  if (!IsValidUtf8(decoded)) {
    return proto::Unexpected(BadUrl(target, "UTF-8"));
  }
  while (decoded.size() > 1 && decoded.ends_with('/')) {
    decoded.pop_back();
  }
  return decoded;
}

std::string UsualPath(std::string_view path) {
  std::vector<std::string_view> segments;
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = path.substr(begin, end - begin);
    begin = end + 1;
    if (segment.empty()) {
      continue;
    }
    if (IsVersion(segment) && !segments.empty() && IsVersion(segments.back())) {
      segments.pop_back();
    }
    segments.push_back(segment);
  }
  std::string usual;
  for (const std::string_view segment : segments) {
    usual += '/';
    usual += segment;
  }
  return usual.empty() ? "/" : usual;
}

}  // namespace scorecast::coordinator
