#include "coordinator/endpoints/rerank/relevance_fields.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {
namespace {

/// Reads a field that has two names.
std::optional<std::string> ReadEither(BodyReader& reader, std::string_view name,
                                      std::string_view other_name) {
  std::optional<std::string> value = reader.String(name);
  std::optional<std::string> other = reader.String(other_name);
  if (value && other && *value != *other) {
    reader.Fail(BadRequest(
        "given_twice",
        std::string(name) + " and " + std::string(other_name) + " mean the same, but differ.",
        std::string(other_name)));
  }
  return value ? std::move(value) : std::move(other);
}

}  // namespace

RelevanceOptions ReadRelevance(BodyReader& reader, bool truncate_if_absent) {
  RelevanceOptions options;
  options.instruction = ReadEither(reader, "instruction", "instruct");
  options.max_tokens_per_doc =
      reader.Integer("max_tokens_per_doc").value_or(options.max_tokens_per_doc);
  options.truncate_prompt_tokens = reader.Integer("truncate_prompt_tokens");
  options.truncate = reader.Bool("truncate", truncate_if_absent);
  options.truncation_direction = ReadEither(reader, "truncation_direction", "truncation_side")
                                     .value_or(options.truncation_direction);
  const bool has_activation =
      reader.Bool("use_activation", true) && reader.Bool("activation", true);
  options.raw_scores = reader.Bool("raw_scores", false) || !has_activation;
  return options;
}

}  // namespace scorecast::coordinator
