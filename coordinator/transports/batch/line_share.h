#pragma once

#include <cstdint>
#include <string>

namespace scorecast::coordinator {

/// The lines of an input that one of several runs computes: `count` runs take turns, line by line.
/// Blank lines do not count.
struct LineShare {
  std::int64_t index = 0;  ///< From 0 on, below `count`.
  std::int64_t count = 1;

  /// `number`: that of a line among those that are not blank, from 0 on.
  bool Has(std::int64_t number) const { return number % count == index; }

  /// As --shard spells it, "0/4".
  std::string ToText() const { return std::to_string(index) + "/" + std::to_string(count); }
};

}  // namespace scorecast::coordinator
