#include "coordinator/transports/connection/client_address.h"

#include <algorithm>

#include <boost/asio/ip/address_v6.hpp>

namespace scorecast::coordinator {

namespace ip = boost::asio::ip;

ip::address CountedAddress(const ip::address& address) {
  if (address.is_v4()) {
    return address;
  }
  const ip::address_v6 v6 = address.to_v6();
  if (v6.is_v4_mapped()) {
    return ip::make_address_v4(ip::v4_mapped, v6);
  }
  ip::address_v6::bytes_type bytes = v6.to_bytes();
  std::fill(bytes.begin() + bytes.size() / 2, bytes.end(), 0);
  return ip::address_v6(bytes);
}

}  // namespace scorecast::coordinator
