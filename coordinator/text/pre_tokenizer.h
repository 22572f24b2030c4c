#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "coordinator/text/regex.h"

namespace scorecast::coordinator {

/// What becomes of the stretches that a splitting step finds: the names are the reference's.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Cuts at the matches of an expression; `invert`: at what lies between them.
struct SplitStep {
  Regex pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;
};

/// Cuts off numbers (characters of category N), each digit alone or runs of them whole.
struct DigitsStep {
  bool individual_digits = false;
};

/// Cuts a text into the pieces inside which byte-level BPE merges, as the pre-tokenizers of Hugging
/// Face's tokenizers library do: some splitting steps, then ByteLevel's own.
class PreTokenizer {
 public:
  using Step = std::variant<SplitStep, DigitsStep>;

  /// `add_prefix_space` and `use_regex` (GPT-2's expression) are ByteLevel's.
  PreTokenizer(std::vector<Step> steps, bool add_prefix_space, bool use_regex);

  /// Calls `piece` for every piece of `text` (valid UTF-8), in order; none of them is empty. A
  /// piece's text lives during the call only.
  void Cut(std::string_view text, const std::function<void(std::string_view)>& piece) const;

 private:
  std::vector<Step> steps_;
  bool add_prefix_space_;
  std::optional<Regex> byte_level_regex_;
};

}  // namespace scorecast::coordinator
