#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/text/unicode/open_text.h"
#include "coordinator/text/unicode/regex.h"
#include "coordinator/text/unicode/spans.h"

namespace scorecast::coordinator {

/// Cuts at the matches of an expression or, if `invert`, at the texts between them.
struct SplitStep {
  Regex pattern;
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;
};

/// Cuts at the characters with a property: Digits, Punctuation and WhitespaceSplit.
struct CharacterSplitStep {
  bool (*has_property)(char32_t) = nullptr;
  SplitBehavior behavior = SplitBehavior::kIsolated;
};

/// Keeps words (runs of word characters) and runs of other characters, but no white space.
struct WhitespaceStep {};

/// Spells spaces as another character ("▁"), puts one such character before the text, and cuts
/// before each of them.
struct MetaspaceStep {
  enum class Prepend { kAlways, kFirst, kNever };  ///< kFirst: only at the beginning of the text.

  std::string replacement;  ///< One character.
  Prepend prepend = Prepend::kAlways;
  bool split = true;
};

/// The last step of byte-level BPE: puts a space before the text, and cuts by GPT-2's expression.
struct ByteLevelStep {
  ByteLevelStep(bool prefix_space, bool use_regex);

  bool add_prefix_space;
  std::optional<Regex> regex;
};

/// Cuts a text into the pieces within which the model works, as the pre-tokenizers of Hugging
/// Face's tokenizers library do: a sequence of steps, each of which cuts the pieces of the step
/// before it.
class PreTokenizer {
 public:
  using Step =
      std::variant<SplitStep, CharacterSplitStep, WhitespaceStep, MetaspaceStep, ByteLevelStep>;

  /// A piece of a text. `first_bytes` as in StagedText.
  struct Piece {
    std::string_view text;
    std::size_t first_bytes = 0;
  };

  PreTokenizer() = default;
  explicit PreTokenizer(std::vector<Step> steps) : steps_(std::move(steps)) {}

  /// Whether this is a pre-tokenizer of byte-level BPE. The model then works on the bytes of a
  /// piece.
  bool is_byte_level() const {
    return !steps_.empty() && std::holds_alternative<ByteLevelStep>(steps_.back());
  }

  /// Calls `piece` for every piece of `text` (valid UTF-8), in order. No piece is empty. Its text
  /// is valid only during the call. If `at_start` is false, nothing is put before a piece with
  /// `first_bytes`, because that piece continues another text.
  void Cut(const Piece& text, bool at_start,
           const std::function<void(std::string_view)>& piece) const;

  /// Moves to the last piece of a text whose end is open.
  void GoToLast(OpenPiece& text, bool at_start) const;

 private:
  struct Cutting;

  std::vector<Step> steps_;
};

}  // namespace scorecast::coordinator
