#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include <boost/asio/ip/address.hpp>

namespace scorecast::coordinator {

/// What the first bytes of a connection say in HAProxy's PROXY protocol, version 1 or 2
/// (https://www.haproxy.org/download/2.8/doc/proxy-protocol.txt).
struct ProxyHeader {
  enum class State {
    kAbsent,  ///< The bytes are not of that protocol.
    kPart,    ///< More bytes are needed.
    kWhole,
    kBad,  ///< They begin as one, and then are none.
  };

  State state = State::kAbsent;
  std::size_t bytes = 0;  ///< Of a whole one: those that come before the client's own.
  /// The client's address. Nothing if the proxy speaks for itself (LOCAL, UNKNOWN), or if the
  /// client has no IP address.
  std::optional<boost::asio::ip::address> client;
};

/// A header is never longer. The rest of a longer one (TLVs of version 2) is kBad.
inline constexpr std::size_t kMaxProxyHeaderBytes = 4096;

/// `bytes` are those that have arrived first, at least one.
ProxyHeader ParseProxyHeader(std::string_view bytes);

}  // namespace scorecast::coordinator
