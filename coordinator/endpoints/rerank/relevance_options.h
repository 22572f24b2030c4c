#pragma once

#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

namespace scorecast::coordinator {

/// What a score is.
enum class ScoreScale {
  kModel,    ///< What the model's own formula gives.
  kRaw,      ///< A logit, or a difference of two.
  kSigmoid,  ///< The sigmoid of it, whatever the formula is.
};

/// How documents are scored against a query: the fields that are described as v1::RelevanceOptions.
struct RelevanceOptions {
  std::optional<std::string> instruction;
  std::int64_t max_tokens_per_doc = 0;
  std::int64_t truncate_prompt_tokens = 0;
  bool truncate = false;
  std::string truncation_direction;
  std::optional<std::string> truncation_strategy;
  std::int64_t max_tokens_per_query = 0;
  ScoreScale scale = ScoreScale::kModel;
};

/// Those of a request that is like v1::RelevanceOptions.
template <typename Message>
RelevanceOptions RelevanceOf(const Message& request) {
  RelevanceOptions options;
  if (request.has_instruction()) {
    options.instruction = request.instruction();
  }
  options.max_tokens_per_doc = request.max_tokens_per_doc();
  options.truncate_prompt_tokens = request.truncate_prompt_tokens();
  options.truncate = request.truncate();
  options.truncation_direction = request.truncation_direction();
  if (request.has_truncation_strategy()) {
    options.truncation_strategy = request.truncation_strategy();
  }
  options.max_tokens_per_query = request.max_tokens_per_query();
  options.scale = request.raw_scores() ? ScoreScale::kRaw : ScoreScale::kModel;
  return options;
}

/// The texts of a request, which are moved.
template <typename Texts>
std::vector<std::string> TextsOf(Texts& texts) {
  return {std::make_move_iterator(texts.begin()), std::make_move_iterator(texts.end())};
}

}  // namespace scorecast::coordinator
