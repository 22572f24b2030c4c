#include "launcher/address/reachable_address.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

namespace scorecast::launcher {
namespace {

namespace asio = boost::asio;
using asio::ip::address;
using asio::ip::udp;
using boost::system::error_code;

enum class Family { kV4, kV6 };

/// Addresses that are reserved for documentation (RFC 5737, RFC 3849), so that only the default
/// route leads to them.
constexpr const char* kElsewhereV4 = "203.0.113.1";
constexpr const char* kElsewhereV6 = "2001:db8::1";

bool IsOf(Family family, const address& candidate) {
  return family == Family::kV6 ? candidate.is_v6() : candidate.is_v4();
}

/// Whether other hosts can use the address. A link-local one would also need the name of an
/// interface.
bool IsUsable(const address& candidate) {
  return !candidate.is_loopback() && !candidate.is_unspecified() &&
         !(candidate.is_v6() && candidate.to_v6().is_link_local());
}

/// The source address of the route to `target`, if there is a route.
std::optional<address> SourceTowards(const address& target) {
  // Connecting a datagram socket chooses the route, and sends nothing.
  asio::io_context io;
  udp::socket socket(io);
  error_code error;
  constexpr std::uint16_t kAnyPort = 9;
  socket.connect({target, kAnyPort}, error);
  if (error) {
    return std::nullopt;
  }
  const udp::endpoint own = socket.local_endpoint(error);
  return error || !IsUsable(own.address()) ? std::nullopt : std::optional(own.address());
}

std::optional<address> SourceTowards(const char* target, Family family) {
  if (target == nullptr) {
    return std::nullopt;
  }
  error_code error;
  const address parsed = asio::ip::make_address(target, error);
  return error || !IsOf(family, parsed) ? std::nullopt : SourceTowards(parsed);
}

std::optional<address> AddressOf(const sockaddr* socket_address) {
  if (socket_address != nullptr && socket_address->sa_family == AF_INET) {
    const auto* v4 = reinterpret_cast<const sockaddr_in*>(socket_address);
    return asio::ip::address_v4(ntohl(v4->sin_addr.s_addr));
  }
  if (socket_address != nullptr && socket_address->sa_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(socket_address);
    asio::ip::address_v6::bytes_type bytes;
    std::copy_n(std::begin(v6->sin6_addr.s6_addr), bytes.size(), bytes.begin());
    return asio::ip::address_v6(bytes);
  }
  return std::nullopt;
}

/// The first usable address of an interface that is up.
std::optional<address> InterfaceAddress(Family family) {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) {
    return std::nullopt;
  }
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
  for (const ifaddrs* entry = first; entry != nullptr; entry = entry->ifa_next) {
    std::optional<address> candidate = AddressOf(entry->ifa_addr);
    if (candidate && IsOf(family, *candidate) && IsUsable(*candidate) &&
        (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_LOOPBACK) == 0) {
      return candidate;
    }
  }
  return std::nullopt;
}

}  // namespace

std::string ReachableAddress(const std::string& ip) {
  if (ip != "0.0.0.0" && ip != "::") {
    return ip;
  }
  // A socket that listens on :: usually accepts IPv4, too.
  const std::vector<Family> families =
      ip == "::" ? std::vector{Family::kV6, Family::kV4} : std::vector{Family::kV4};
  for (const Family family : families) {
    const std::array candidates = {
        SourceTowards(std::getenv("SLURM_LAUNCH_NODE_IPADDR"), family),
        SourceTowards(family == Family::kV6 ? kElsewhereV6 : kElsewhereV4, family),
        InterfaceAddress(family),
    };
    for (const std::optional<address>& candidate : candidates) {
      if (candidate) {
        return candidate->to_string();
      }
    }
  }
  return ip == "::" ? "::1" : "127.0.0.1";
}

}  // namespace scorecast::launcher
