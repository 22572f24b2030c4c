#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// What a front looks for in a request.
struct NamedInRequest {
  std::string model;                       ///< Empty if it names none.
  std::optional<std::int64_t> timeout_ms;  ///< If it is a whole number.
};

/// What the outermost object of a JSON text has as "model" and "timeout_ms". If the JSON has a
/// fault, which a replica reports, or is long, what was found so far. Reads no further than these
/// members, and makes no tree.
NamedInRequest NamedInJson(std::string_view json);

}  // namespace scorecast::coordinator
