#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "coordinator/json/field_table.h"
#include "coordinator/request/request_options.h"
#include "coordinator/request/values.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// Whether a body, which may be any JSON, has a field that is not null. Endpoints with several
/// forms tell by it which form a body has.
bool HasField(const nlohmann::json& body, std::string_view field);

/// Reads the fields of one body, which outlives the reader, as their table says. Checks the types
/// of fields, but not their values: a wrong type is a 400 "wrong_type". A number with a fraction or
/// an exponent is not an integer. A field that is null counts as absent. The reader keeps the first
/// fault; values read after it mean nothing.
///
/// Each function is for one type. That the table has the field with this type is an invariant.
class BodyReader {
 public:
  /// Faults are: a body that is not an object, which has no fields; a parameter that the table
  /// refuses, with a value that is not neutral (400 "not_supported"); and a required field that is
  /// absent (400 "missing_field").
  BodyReader(const nlohmann::json& body, const FieldTable& table);

  std::optional<std::string> String(std::string_view field);
  std::optional<std::vector<std::string>> Strings(std::string_view field);
  std::optional<std::vector<std::string>> StringOrStrings(std::string_view field);
  std::optional<TextOrId> OptionalTextOrId(std::string_view field);
  std::optional<TextOrIds> OptionalTextOrIds(std::string_view field);
  TextOrIds RequiredTextOrIds(std::string_view field);
  std::optional<std::vector<TextOrIds>> TextOrIdsList(std::string_view field);
  std::optional<std::vector<TextOrIds>> OneOrMoreTextOrIds(std::string_view field);
  /// The documents' texts.
  std::optional<std::vector<std::string>> Documents(std::string_view field);
  std::optional<std::vector<TokenId>> TokenIds(std::string_view field);
  std::optional<LabelTokenIds> Labels(std::string_view field);
  std::optional<std::int64_t> Integer(std::string_view field);
  std::optional<std::vector<std::int64_t>> Integers(std::string_view field);
  std::optional<std::uint64_t> Unsigned(std::string_view field);
  // These return `absent` if the field is absent. Bool is for kBool and kBoolOrString.
  bool Bool(std::string_view field, bool absent);
  double Number(std::string_view field, double absent);

  /// Reads kOptionFields.
  void ReadOptions(RequestOptions& options);
  /// Reads kPriorityField.
  void ReadPriority(RequestOptions& options);

  void Fail(proto::Error error);
  std::optional<proto::Error>& error() { return error_; }

 private:
  void RefuseUnsupported();
  void RequireFields();
  /// The field's row of the table. A broken invariant if the table does not have it.
  const Field& RowOf(std::string_view field) const;
  /// Null if the field is absent.
  const nlohmann::json* Find(std::string_view field, FieldType type) const;
  /// Null if the field is absent; null and a fault if it is not a list.
  const nlohmann::json* FindList(std::string_view field, FieldType type);
  TextOrIds ReadTextOrIds(const nlohmann::json& value, std::string_view field);
  std::vector<TextOrIds> ReadTextOrIdsList(const nlohmann::json& list, std::string_view field);
  std::vector<std::string> ReadStrings(const nlohmann::json& list, std::string_view field);
  std::vector<TokenId> ReadIds(const nlohmann::json& list, std::string_view field);

  const nlohmann::json& body_;
  const FieldTable& table_;
  std::optional<proto::Error> error_;
};

}  // namespace scorecast::coordinator
