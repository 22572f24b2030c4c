#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace scorecast::coordinator {

/// A client: the address that its connections count for, and one of these connections. Jobs that
/// come over no connection have number 0.
struct ClientId {
  /// The text of an address, or any other name. It is compared, never parsed.
  std::string address;
  std::uint64_t connection = 0;

  auto operator<=>(const ClientId&) const = default;
};

}  // namespace scorecast::coordinator
