#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "coordinator/schedule/job.h"

namespace scorecast::coordinator {

/// The JSON that a field may have. BodyReader has a function for each type.
enum class FieldType {
  kString,
  kStrings,
  kStringOrStrings,  ///< A single string counts as a list of one.
  kTextOrId,         ///< The text of one token, or its id.
  kTextOrIds,        ///< A string or a list of token ids.
  kTextOrIdsList,
  kOneOrMoreTextOrIds,  ///< A string counts as a list of one, unlike a list of token ids.
  kDocuments,           ///< A list of strings or of {"text": string}.
  kTokenIds,
  kLabels,  ///< A list of token ids, or one such list for each item.
  kInteger,
  kIntegers,
  kUnsigned,  ///< An integer from 0 to 2^64 - 1.
  kNumber,
  kBool,
  kBoolOrString,  ///< A boolean, also as a string: "true" or "False".
};

/// What a value of the type is, such as "a list of token ids".
std::string_view Description(FieldType type);

/// One field of a request's body.
struct Field {
  std::string_view name;
  FieldType type = FieldType::kString;
  std::string_view description;  ///< One line of Markdown for users.
  bool is_required = false;
  /// What an absent field means, as JSON. Empty if no value means the same as absence.
  std::string_view default_json;
  /// The least and largest value of a number, or of each number of a list. They are documentation:
  /// a request's Prepare checks values.
  std::optional<double> minimum;
  std::optional<double> maximum;
};

/// A parameter of other engines that would change the result if it were supported.
struct RefusedField {
  /// A name, or "*" and the end of several names.
  std::string_view name;
  /// The values that would not change the result, as a JSON list. Null always is one of them.
  std::string_view neutral_json = "[]";
  /// What to do instead, as a sentence. May be empty.
  std::string_view hint;
};

/// The fields of one form of a request's body. A field that is in neither list is ignored.
struct FieldTable {
  std::string_view name;  ///< In /openapi.json, such as "ScoreRequest".
  std::string_view description;
  std::span<const Field> fields;
  std::span<const RefusedField> refused;
};

/// The parts one after the other. Each part is a std::array.
template <typename Row, std::size_t... Sizes>
constexpr auto Joined(const std::array<Row, Sizes>&... parts) {
  std::array<Row, (Sizes + ...)> rows;
  auto end = rows.begin();
  ((end = std::copy(parts.begin(), parts.end(), end)), ...);
  return rows;
}

/// The fields that the requests of every endpoint have: see BodyReader::ReadOptions.
inline constexpr std::array kOptionFields = std::to_array<Field>({
    {.name = "model",
     .type = FieldType::kString,
     .description = "Returned in the response. The server has one model, whatever its name."},
    {.name = "timeout_ms",
     .type = FieldType::kInteger,
     .description = "Deadline for the whole request, in milliseconds from its first byte.",
     .minimum = 1},
    {.name = "cache_salt",
     .type = FieldType::kString,
     .description = "Requests share cached pages only if they have the same salt."},
});

/// The field of requests that are queued: see BodyReader::ReadPriority.
inline constexpr std::array kPriorityField = std::to_array<Field>({
    {.name = "priority",
     .type = FieldType::kInteger,
     .description = "A lower number is computed sooner. Each step down is a 1.25 times larger "
                    "share of the server's time.",
     .default_json = "0",
     .minimum = kMinPriority,
     .maximum = kMaxPriority},
});

}  // namespace scorecast::coordinator
