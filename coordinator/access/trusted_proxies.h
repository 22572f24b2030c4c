#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/ip/address.hpp>

namespace scorecast::coordinator {

/// The proxies whose word about the address of a client counts. Everybody else could claim any
/// address.
class TrustedProxies {
 public:
  /// Adds the proxies of a network, "10.0.0.0/8" or "fd00::/8", or of one address. Returns why the
  /// text is none; empty if it is added.
  std::string Add(std::string_view text);

  bool empty() const { return networks_.empty(); }
  /// IPv4 addresses are the same if they are mapped into IPv6.
  bool Has(const boost::asio::ip::address& address) const;

  /// The client of a request that `peer` sends with this value of X-Forwarded-For: the last address
  /// of it, `peer` included, that is none of these proxies. If an address cannot be read, the proxy
  /// that wrote it is the client. The client is `peer` unless that is one of these proxies.
  boost::asio::ip::address ClientOf(const boost::asio::ip::address& peer,
                                    std::string_view forwarded_for) const;

 private:
  struct Network {
    boost::asio::ip::address first;
    unsigned bits = 0;
  };

  std::vector<Network> networks_;
};

}  // namespace scorecast::coordinator
