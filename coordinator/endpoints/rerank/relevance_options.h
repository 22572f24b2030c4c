#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace scorecast::coordinator {

/// How documents are scored against a query: fields that several kinds of requests have.
struct RelevanceOptions {
  std::optional<std::string> instruction;  ///< Instead of the template's own.
  /// Most tokens of a document. 0: only the model limits them.
  std::int64_t max_tokens_per_doc = 0;
  /// Most tokens of a prompt, which are cut off the document. -1: what the model can take.
  std::optional<std::int64_t> truncate_prompt_tokens;
  /// Whether a document with too many tokens is cut. If it is not, the request is refused.
  bool truncate = true;
  /// Which end of a document is cut off: "right" or "left", in upper or lower case.
  std::string truncation_direction = "right";
  bool raw_scores = false;  ///< Scores before the sigmoid or softmax of the template's formula.
};

}  // namespace scorecast::coordinator
