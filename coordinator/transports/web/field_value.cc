#include "coordinator/transports/web/field_value.h"

#include <algorithm>
#include <cstddef>

#include "coordinator/request/request_error.h"
#include "proto/base/letter_case.h"
#include "proto/base/trimmed.h"

namespace scorecast::coordinator {
namespace {

bool EndsWithoutCase(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         proto::EqualsWithoutCase(text.substr(text.size() - end.size()), end);
}

}  // namespace

std::string EncodingOf(std::string content_encoding) {
  return proto::EqualsWithoutCase(content_encoding, "identity") ? "" : content_encoding;
}

bool NamesEntityTag(std::string_view if_none_match, std::string_view entity_tag) {
  constexpr std::string_view kBetween = ", \t";
  std::string_view rest = proto::Trimmed(if_none_match, kBetween);
  if (rest == "*") {
    return true;
  }
  while (!rest.empty()) {
    // A weak one names the same content.
    rest.remove_prefix(rest.starts_with("W/") ? 2 : 0);
    const std::size_t end = rest.starts_with('"') ? rest.find('"', 1) : std::string_view::npos;
    if (end == std::string_view::npos) {
      return false;
    }
    if (rest.substr(0, end + 1) == entity_tag) {
      return true;
    }
    rest = proto::Trimmed(rest.substr(end + 1), kBetween);
  }
  return false;
}

std::optional<proto::Error> ContentTypeFault(std::string_view content_type) {
  std::string_view type = content_type.substr(0, content_type.find(';'));
  type = type.substr(0, type.find_last_not_of(" \t") + 1);
  if (type.empty() || proto::EqualsWithoutCase(type, "application/json") ||
      EndsWithoutCase(type, "+json")) {
    return std::nullopt;
  }
  return proto::Error{415, "wrong_content_type",
                      "The request must be JSON, but its Content-Type is " + Quoted(content_type) +
                          ": send application/json.",
                      "Content-Type"};
}

std::optional<proto::Error> ContentEncodingFault(std::string_view content_encoding) {
  for (const std::string_view known : {"", "gzip", "x-gzip", "deflate", "zstd"}) {
    if (proto::EqualsWithoutCase(content_encoding, known)) {
      return std::nullopt;
    }
  }
  return proto::Error{415, "wrong_content_encoding",
                      "The Content-Encoding " + Quoted(content_encoding) +
                          " is not supported; gzip, deflate and zstd are.",
                      "Content-Encoding"};
}

}  // namespace scorecast::coordinator
