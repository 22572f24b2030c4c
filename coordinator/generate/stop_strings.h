#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scorecast::coordinator {

/// Cuts off a text before or behind its first stop string, while the text arrives in pieces. The
/// first stop string is the one that is complete first; if several end at the same place, the
/// longest of them. The result does not depend on how the text is cut into pieces.
class StopStrings {
 public:
  /// Each stop string is valid UTF-8 of less than 65536 bytes. Empty stop strings are ignored.
  /// `shows_stop`: the text ends with the stop string that was found.
  explicit StopStrings(std::vector<std::string> stops, bool shows_stop = false);

  /// Adds a piece. Returns the text that can now be shown: nothing that is or may still become a
  /// part of a stop string that is not to be shown. Returns whole characters if the pieces are
  /// whole characters. Takes time linear in the length of the piece. Without `may_stop`, stop
  /// strings that end in the piece are not found.
  std::string Push(std::string_view piece, bool may_stop = true);

  /// Returns the text that was held back. No piece may follow.
  std::string Finish();

  /// Whether a stop string was found. Nothing is shown after it.
  bool found() const { return found_; }

 private:
  /// The search for one stop string, by the algorithm of Knuth, Morris and Pratt.
  struct Search {
    std::string stop;
    std::vector<std::uint16_t> border;  ///< [i]: length of the longest border of the first i bytes.
    std::size_t matched = 0;  ///< Length of the beginning of `stop` that the text ends with.
  };

  std::vector<Search> searches_;
  bool shows_stop_;
  std::string held_;
  bool found_ = false;
};

}  // namespace scorecast::coordinator
