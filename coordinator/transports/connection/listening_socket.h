#pragma once

#include <cstdint>
#include <string>

namespace scorecast::coordinator {

/// Opens a TCP socket that has the address, but does not listen yet, so that clients are refused.
/// No other socket can have the address meanwhile. The caller owns the descriptor. Throws
/// StartupError if the host has no address, or if the address is taken.
int OpenBoundSocket(const std::string& host, std::uint16_t port);

/// Lets such a socket listen, unless it does already. Throws StartupError.
void Listen(int bound_socket);

/// Opens a TCP socket that listens on the address. Otherwise as OpenBoundSocket.
int OpenListeningSocket(const std::string& host, std::uint16_t port);

/// True if the descriptor is a TCP socket that listens.
bool IsListeningSocket(int descriptor);

/// The address of the host that a TCP socket is bound to, in digits, and its port.
std::string BoundHost(int descriptor);
std::uint16_t BoundPort(int descriptor);
/// Whether that address is one of loopback, so that only programs of this host reach the socket.
bool IsOnLoopback(int descriptor);

}  // namespace scorecast::coordinator
