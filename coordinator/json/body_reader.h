#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "coordinator/request/request_options.h"
#include "coordinator/request/values.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// Reads the fields of one body, which outlives the reader. Checks the types of fields, but not
/// their values: a wrong type is a 400 "wrong_type". A number with a fraction or an exponent is not
/// an integer. A field that is null counts as absent. The reader keeps the first fault; values read
/// after it mean nothing.
class BodyReader {
 public:
  /// A body that is not an object is a fault and has no fields.
  explicit BodyReader(const nlohmann::json& body);

  bool Has(const std::string& field) const { return Find(field) != nullptr; }

  std::optional<TextOrIds> OptionalTextOrIds(const std::string& field);
  /// 400 "missing_field" if it is absent.
  TextOrIds RequiredTextOrIds(const std::string& field);
  std::optional<std::vector<TextOrIds>> TextOrIdsList(const std::string& field);
  std::optional<std::vector<TokenId>> TokenIds(const std::string& field);
  /// One list for all rows, or one list for each row.
  std::optional<LabelTokenIds> Labels(const std::string& field);
  std::optional<std::vector<std::string>> Strings(const std::string& field);
  /// A single string counts as a list of one.
  std::optional<std::vector<std::string>> StringOrStrings(const std::string& field);
  std::optional<std::vector<std::int64_t>> Integers(const std::string& field);
  // Bool and Number return `absent` if the field is absent.
  bool Bool(const std::string& field, bool absent);
  double Number(const std::string& field, double absent);
  std::optional<std::int64_t> Integer(const std::string& field);
  std::optional<std::uint64_t> Unsigned(const std::string& field);
  std::optional<std::string> String(const std::string& field);

  /// The fields that the requests of every endpoint have.
  void ReadOptions(RequestOptions& options);

  void Fail(proto::Error error);
  std::optional<proto::Error>& error() { return error_; }

 private:
  const nlohmann::json* Find(const std::string& field) const;
  TextOrIds ReadTextOrIds(const nlohmann::json& value, const std::string& field);
  std::vector<TokenId> ReadIds(const nlohmann::json& list, const std::string& field);
  /// Null if the field is absent; null and a fault if it is not a list.
  const nlohmann::json* FindList(const std::string& field, std::string_view wanted);

  const nlohmann::json& body_;
  std::optional<proto::Error> error_;
};

proto::Error WrongType(const std::string& field, std::string_view wanted);

}  // namespace scorecast::coordinator
