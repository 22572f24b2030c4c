#pragma once

#include <cstdint>
#include <string>

namespace scorecast::coordinator {

/// Opens a TCP socket that listens on the address. The caller owns the descriptor. Throws
/// StartupError if the host has no address, or if it cannot listen on the address.
int OpenListeningSocket(const std::string& host, std::uint16_t port);

/// True if the descriptor is a TCP socket that listens.
bool IsListeningSocket(int descriptor);

/// The address of the host that a TCP socket listens on, in digits.
std::string ListeningHost(int descriptor);

}  // namespace scorecast::coordinator
