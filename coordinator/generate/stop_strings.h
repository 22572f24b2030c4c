#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scorecast::coordinator {

/// Stop strings, prepared for being found by the algorithm of Knuth, Morris and Pratt. Never
/// changes; copies share everything.
class StopList {
 public:
  struct Stop {
    std::string text;
    std::vector<std::uint16_t> border;  ///< [i]: length of the longest border of the first i bytes.
  };

  StopList() = default;
  /// Each stop string is valid UTF-8 of less than 65536 bytes. Empty stop strings are ignored.
  StopList(const std::vector<std::string>& stops);  // NOLINT(google-explicit-constructor)
  StopList(std::initializer_list<std::string> stops) : StopList(std::vector(stops)) {}

  std::span<const Stop> stops() const {
    return stops_ == nullptr ? std::span<const Stop>() : std::span(*stops_);
  }

 private:
  std::shared_ptr<const std::vector<Stop>> stops_;
};

/// Cuts off a text before or behind its first stop string, while the text arrives in pieces. The
/// first stop string is the one that is complete first; if several end at the same place, the
/// longest of them. The result does not depend on how the text is cut into pieces.
class StopStrings {
 public:
  /// `shows_stop`: the text ends with the stop string that was found.
  explicit StopStrings(StopList list, bool shows_stop = false);

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
  StopList list_;
  /// [stops]: length of the beginning of each stop string that the text ends with.
  std::vector<std::size_t> matched_;
  bool shows_stop_;
  std::string held_;
  bool found_ = false;
};

}  // namespace scorecast::coordinator
