#include "coordinator/transports/connection/client_address.h"

#include <algorithm>

#include <boost/asio/ip/address_v6.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>

namespace scorecast::coordinator {

namespace ip = boost::asio::ip;

namespace {

constexpr unsigned short kNetworkBitsV4 = 24;
constexpr unsigned short kNetworkBitsV6 = 56;

}  // namespace

ip::address Unmapped(const ip::address& address) {
  return address.is_v6() && address.to_v6().is_v4_mapped()
             ? ip::make_address_v4(ip::v4_mapped, address.to_v6())
             : address;
}

ip::address CountedAddress(const ip::address& address) {
  const ip::address unmapped = Unmapped(address);
  if (unmapped.is_v4()) {
    return unmapped;
  }
  ip::address_v6::bytes_type bytes = unmapped.to_v6().to_bytes();
  std::fill(bytes.begin() + bytes.size() / 2, bytes.end(), 0);
  return ip::address_v6(bytes);
}

std::string NetworkOf(const ip::address& address) {
  const ip::address unmapped = Unmapped(address);
  return unmapped.is_v4()
             ? ip::network_v4(unmapped.to_v4(), kNetworkBitsV4).canonical().to_string()
             : ip::network_v6(unmapped.to_v6(), kNetworkBitsV6).canonical().to_string();
}

ClientId ClientOf(const ip::address& address, const std::string& certificate,
                  std::uint64_t connection) {
  if (certificate.empty()) {
    return {address.to_string(), connection, NetworkOf(address)};
  }
  const ClientName name = "cert:" + certificate;
  return {name, connection, name};
}

}  // namespace scorecast::coordinator
