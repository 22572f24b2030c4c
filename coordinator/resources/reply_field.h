#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace scorecast::coordinator {

/// A field of a reply's header.
struct ReplyField {
  std::string_view name;  ///< A literal.
  std::string value;
};

using ReplyFields = std::vector<ReplyField>;

}  // namespace scorecast::coordinator
