#pragma once

#include <optional>
#include <string>
#include <vector>

#include "coordinator/request/request_options.h"
#include "coordinator/request/values.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {

// Conversions between parts of messages and the values of request/values.h.

std::vector<TokenId> IdsOf(const v1::TokenIds& message);
/// Empty if the message has no value.
std::optional<TextOrIds> ValueOf(const v1::TextOrIds& message);
std::optional<TextOrId> ValueOf(const v1::TextOrId& message);
/// A 400 that names the field if a message has no value.
proto::Expected<std::vector<TextOrIds>> ValuesOf(
    const google::protobuf::RepeatedPtrField<v1::TextOrIds>& messages, const std::string& field);
/// The 400 for a field without a value.
proto::Error MissingValue(const std::string& field);

/// Reads the fields that all requests have.
template <typename Message>
void ReadOptions(const Message& message, RequestOptions& options) {
  if (message.has_timeout_ms()) {
    options.timeout_ms = message.timeout_ms();
  }
  if (message.has_model()) {
    options.model = message.model();
  }
  if (message.has_cache_salt()) {
    options.cache_salt = message.cache_salt();
  }
  options.priority = message.priority();
}

}  // namespace scorecast::coordinator
