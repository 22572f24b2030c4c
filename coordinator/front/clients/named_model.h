#pragma once

#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// The text that the outermost object of a JSON text has as "model". Empty if it has none, or if
/// the JSON has a fault in front of it, which a replica reports. Reads no further than that member,
/// and makes no tree.
std::string ModelInJson(std::string_view json);

}  // namespace scorecast::coordinator
