#pragma once

#include <span>
#include <string_view>

namespace scorecast::proto {

/// The one of `names` that is probably meant by `given`, which is none of them. It is the one with
/// the fewest typing errors, if they are at most a third of its characters: a character that is
/// missing, too many or another one, or two that are swapped. Otherwise it is the first one of
/// which `given` is an abbreviation, as "docs" is of "documents", or that is one of `given`. Empty
/// if there is none. Only names of up to 64 bytes are compared.
std::string_view NearestName(std::string_view given, std::span<const std::string_view> names);

}  // namespace scorecast::proto
