#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace scorecast::coordinator {

/// The beginning of a text whose end is open, after some steps of a tokenizer. Whatever follows the
/// raw text, the whole text after these steps begins with `text`.
///
/// Some places of `text` correspond to a place of the raw text. This means that the steps turn the
/// raw text before that place into the text before it, and the raw text behind it, encoded with
/// `at_start` false, into the text behind it.
struct OpenText {
  static constexpr std::size_t kNoPlace = static_cast<std::size_t>(-1);

  static OpenText FromRaw(std::string_view raw);

  /// Keeps [begin, end).
  void Keep(std::size_t begin, std::size_t end);

  /// Notes that no place in [begin, end) corresponds to a place of the raw text any more.
  void ForgetPlaces(std::size_t begin, std::size_t end);

  std::string text;
  /// [text.size() + 1] The corresponding place of the raw text, or kNoPlace.
  std::vector<std::size_t> places = {kNoPlace};
};

/// The last piece of a text whose end is open, after some steps of a tokenizer.
struct OpenPiece {
  OpenText text;  ///< The beginning of the piece that is certain.
  /// Text that certainly follows `text`, but whose pieces are not known.
  std::string uncut;
  bool is_first = true;  ///< The piece contains the beginning of the whole text.
  /// The last place of the raw text at which the steps certainly cut, or 0.
  std::size_t cut = 0;

  /// Cuts the text at byte `begin`, and keeps what is behind, up to byte `end`.
  void Cut(std::size_t begin, std::size_t end);
};

/// Makes an OpenText part by part.
class OpenTextBuilder {
 public:
  /// `place` corresponds to the beginning of `text`. No place inside `text` corresponds to a place
  /// of the raw text.
  void Add(std::string_view text, std::size_t place);
  /// Adds [begin, end) of another text.
  void Copy(const OpenText& from, std::size_t begin, std::size_t end);

  /// `place` corresponds to the end.
  OpenText Finish(std::size_t place) &&;

 private:
  OpenText made_ = {{}, {}};
};

}  // namespace scorecast::coordinator
