#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "proto/base/error.h"

namespace scorecast::coordinator {

/// The value of the field Content-Encoding, without "identity", which means the same as no field.
std::string EncodingOf(std::string content_encoding);

/// Whether a value of the field If-None-Match names an ETag, which has its quotes (RFC
/// 9110, 13.1.2). What stands behind a malformed member does not count.
bool NamesEntityTag(std::string_view if_none_match, std::string_view entity_tag);

/// The 415 for a body that is not JSON, by the field Content-Type, which may be absent (empty).
std::optional<proto::Error> ContentTypeFault(std::string_view content_type);
/// The 415 for an encoding that this server does not have; empty: none.
std::optional<proto::Error> ContentEncodingFault(std::string_view content_encoding);

}  // namespace scorecast::coordinator
