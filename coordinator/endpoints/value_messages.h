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

std::vector<double> NumbersOf(const v1::Numbers& message);
std::vector<std::vector<double>> RowsOf(
    const google::protobuf::RepeatedPtrField<v1::Numbers>& messages);
std::vector<std::vector<TokenLogprob>> TopLogprobsOf(
    const google::protobuf::RepeatedPtrField<v1::TokenLogprobs>& messages);
Usage UsageOf(const v1::Usage& message);
Timings TimingsOf(const v1::Timings& message);

void ToMessage(const std::vector<double>& numbers, v1::Numbers& message);
void ToMessages(const std::vector<std::vector<double>>& rows,
                google::protobuf::RepeatedPtrField<v1::Numbers>& messages);
void ToMessages(const std::vector<std::vector<TokenLogprob>>& rows,
                google::protobuf::RepeatedPtrField<v1::TokenLogprobs>& messages);
void ToMessage(const Usage& usage, v1::Usage& message);
void ToMessage(const Timings& timings, v1::Timings& message);
void ToMessage(const proto::Error& error, v1::Error& message);

}  // namespace scorecast::coordinator
