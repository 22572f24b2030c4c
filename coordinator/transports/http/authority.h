#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// A host and a port, as the field Host has them.
struct Authority {
  std::string host;  ///< See HostOf.
  std::optional<std::uint16_t> port;
};

/// A name in small letters without a dot at its end, or an IP address in its usual form: one that
/// is mapped into IPv6 is an IPv4 address. IPv6 may have brackets. Nothing if the text is neither;
/// a host with a port is neither.
std::optional<std::string> HostOf(std::string_view text);

/// Reads "HOST" or "HOST:PORT". IPv6 must have brackets.
std::optional<Authority> ParseAuthority(std::string_view text);

/// Whether a host (see HostOf) is localhost or a loopback address. No page can have such a host
/// unless this machine serves it: names of others can point to this machine, too (DNS rebinding).
bool IsLoopbackHost(const std::string& host);

/// Whether the field Origin names the scheme and host of an URL, such as
/// "https://example.org:8443", whose host and port are those of `authority`. A proxy may have ended
/// TLS, so a port that is missing in `authority` is the usual one of the origin's scheme.
bool IsOriginOf(const Authority& authority, std::string_view origin);

}  // namespace scorecast::coordinator
