#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/text/steps/precompiled_charsmap.h"
#include "coordinator/text/unicode/open_text.h"
#include "coordinator/text/unicode/regex.h"
#include "coordinator/text/unicode/unicode_form.h"

namespace scorecast::coordinator {

/// A text between two steps of a tokenizer.
struct StagedText {
  std::string text;
  /// Number of bytes at the beginning of `text` that stand for the first character of the whole
  /// text. The reference gives these bytes the offset 0. Zero for a part that begins later. In a
  /// later section, which the reference does not have, the section's first character counts.
  std::size_t first_bytes = 0;
};

/// Normalization of a text before it is tokenized, as the normalizers of Hugging Face's tokenizers
/// library do it: a sequence of steps.
class Normalizer {
 public:
  /// Puts a text before every text that is not empty.
  struct Prepend {
    std::string text;
  };
  struct Replace {
    Regex pattern;
    std::string content;
  };
  /// Removes white space at the ends.
  struct Strip {
    bool left = false;
    bool right = false;
  };
  /// Replaces each character by the text that `append` adds for it, which may be empty.
  struct Map {
    void (*append)(char32_t character, std::string& text) = nullptr;
  };
  using Step = std::variant<UnicodeForm, Prepend, Replace, Strip, Map, PrecompiledCharsmap>;

  Normalizer() = default;
  explicit Normalizer(std::vector<Step> steps) : steps_(std::move(steps)) {}

  bool empty() const { return steps_.empty(); }

  /// `text` must be valid UTF-8. If `at_start` is false, nothing is put before a text with
  /// `first_bytes`, because that text continues another one.
  StagedText Apply(StagedText text, bool at_start) const;

  /// The same for a text whose end is open.
  void Apply(OpenPiece& piece, bool at_start) const;

  /// The same for a text that stands by itself.
  std::string Apply(std::string_view text) const;

 private:
  std::vector<Step> steps_;
};

}  // namespace scorecast::coordinator
