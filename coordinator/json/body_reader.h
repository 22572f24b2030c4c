#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/request/values.h"
#include "coordinator/request/request_options.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// Reads the fields of one body, which outlives it. Types are checked (400 "wrong_type"; a number
/// with a fraction or an exponent is not an integer), values are not. null is as good as absent.
/// The first fault is kept; what is read after it does not matter.
class BodyReader {
 public:
  /// `body` may be of any type: one that is no object is a fault, and has no fields.
  explicit BodyReader(const nlohmann::json& body);

  /// What stands in the body, by name; no field of a body that is none.
  bool Has(const std::string& field) const { return Find(field) != nullptr; }

  std::optional<TextOrIds> OptionalTextOrIds(const std::string& field);
  /// The same, where its absence is a 400 "missing_field".
  TextOrIds RequiredTextOrIds(const std::string& field);
  std::optional<std::vector<TextOrIds>> TextOrIdsList(const std::string& field);
  std::optional<std::vector<TokenId>> TokenIds(const std::string& field);
  /// One list for all, or one for each.
  std::optional<LabelTokenIds> Labels(const std::string& field);
  std::optional<std::vector<std::string>> Strings(const std::string& field);
  /// A single string is a list of it.
  std::optional<std::vector<std::string>> StringOrStrings(const std::string& field);
  std::optional<std::vector<std::int64_t>> Integers(const std::string& field);
  bool Bool(const std::string& field, bool absent);
  double Number(const std::string& field, double absent);
  std::optional<std::int64_t> Integer(const std::string& field);
  std::optional<std::uint64_t> Unsigned(const std::string& field);
  std::optional<std::string> String(const std::string& field);

  /// The fields of any door's request.
  void ReadOptions(RequestOptions& options);

  void Fail(proto::Error error);
  std::optional<proto::Error>& error() { return error_; }

 private:
  const nlohmann::json* Find(const std::string& field) const;
  TextOrIds ReadTextOrIds(const nlohmann::json& value, const std::string& field);
  std::vector<TokenId> ReadIds(const nlohmann::json& list, const std::string& field);
  /// The field where it is a list; nothing, and a fault, where it is something else.
  const nlohmann::json* FindList(const std::string& field, std::string_view wanted);

  const nlohmann::json& body_;
  std::optional<proto::Error> error_;
};

proto::Error WrongType(const std::string& field, std::string_view wanted);

}  // namespace scorecast::coordinator
