#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace scorecast::coordinator {

/// Ends a text that comes in pieces before the first stop string in it: the first one that is
/// complete, and of those complete at the same place the longest. That does not depend on how the
/// text is cut into pieces.
class StopStrings {
 public:
  /// Each is valid UTF-8, of less than 65536 bytes; an empty one stops nothing.
  explicit StopStrings(std::vector<std::string> stops);

  /// What may be shown after `piece`, in whole characters if the pieces are: nothing of a stop
  /// string, and nothing that may still become one. Linear in the piece's length.
  std::string Push(std::string_view piece);

  /// What was held back, where no piece comes any more.
  std::string Finish();

  /// Whether a stop string was there; nothing is shown after it.
  bool found() const { return found_; }

 private:
  /// One stop string, searched for with Knuth, Morris and Pratt's algorithm.
  struct Search {
    std::string stop;
    std::vector<std::uint16_t> border;  ///< [i]: the longest proper border of the first i bytes.
    std::size_t matched = 0;            ///< How much of `stop` the text ends with.
  };

  std::vector<Search> searches_;
  std::string held_;
  bool found_ = false;
};

}  // namespace scorecast::coordinator
