#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "coordinator/text/regex.h"

namespace scorecast::coordinator {

/// What a splitting step does with its matches. The names are those of the reference.
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

/// Cuts at the matches of an expression or, if `invert`, at what lies between them.
struct SplitStep {
  Regex pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;
};

/// Cuts off numeric characters (category N): each one alone, or whole runs of them.
struct DigitsStep {
  bool individual_digits = false;
};

/// Cuts a text into the pieces within which byte-level BPE merges, as the pre-tokenizers of Hugging
/// Face's tokenizers library do: splitting steps, then those of ByteLevel.
class PreTokenizer {
 public:
  using Step = std::variant<SplitStep, DigitsStep>;

  /// `add_prefix_space` and `use_regex` (GPT-2's expression) are options of ByteLevel.
  PreTokenizer(std::vector<Step> steps, bool add_prefix_space, bool use_regex);

  /// Calls `piece` for every piece of `text` (valid UTF-8), in order. No piece is empty. Its text
  /// is valid only during the call. If `at_start` is false, nothing is put before the first piece.
  void Cut(std::string_view text, bool at_start,
           const std::function<void(std::string_view)>& piece) const;

 private:
  std::vector<Step> steps_;
  bool add_prefix_space_;
  std::optional<Regex> byte_level_regex_;
};

}  // namespace scorecast::coordinator
