#pragma once

#include <cstdint>
#include <string>

#include <boost/asio/ip/address.hpp>

#include "coordinator/schedule/client_id.h"

namespace scorecast::coordinator {

/// The IPv4 address, if it is mapped into IPv6; otherwise the address as it is.
boost::asio::ip::address Unmapped(const boost::asio::ip::address& address);

/// The address that a client's connections count for: its IPv4 address, also if it is mapped into
/// IPv6, or the first 64 bits of its IPv6 address. One client usually has all addresses that share
/// these.
boost::asio::ip::address CountedAddress(const boost::asio::ip::address& address);

/// The client of a connection: "cert:" and the name of its verified certificate, or its address if
/// `certificate` is empty. No address and no name of a key begins so. A certificate shares turns
/// with no address, because it is a network of its own.
ClientId ClientOf(const boost::asio::ip::address& address, const std::string& certificate,
                  std::uint64_t connection);

/// The network that an address is in, as text: the first 24 bits of an IPv4 address,
/// "192.0.2.0/24", or the first 56 of an IPv6 address. Who has one address of it can often have
/// many.
std::string NetworkOf(const boost::asio::ip::address& address);

}  // namespace scorecast::coordinator
