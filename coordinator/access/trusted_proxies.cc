#include "coordinator/access/trusted_proxies.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "proto/base/one_line.h"
#include "proto/base/trimmed.h"

namespace scorecast::coordinator {
namespace {

namespace ip = boost::asio::ip;

constexpr unsigned kBitsV4 = 32;
constexpr unsigned kBitsV6 = 128;

ip::address Plain(const ip::address& address) {
  return address.is_v6() && address.to_v6().is_v4_mapped()
             ? ip::address(ip::make_address_v4(ip::v4_mapped, address.to_v6()))
             : address;
}

std::vector<unsigned char> BytesOf(const ip::address& address) {
  if (address.is_v4()) {
    const auto bytes = address.to_v4().to_bytes();
    return {bytes.begin(), bytes.end()};
  }
  const auto bytes = address.to_v6().to_bytes();
  return {bytes.begin(), bytes.end()};
}

/// Whether the first bits of the addresses, which are of one kind, are the same.
bool AreSame(const ip::address& a, const ip::address& b, unsigned bits) {
  const std::vector<unsigned char> first = BytesOf(a);
  const std::vector<unsigned char> second = BytesOf(b);
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned mask = 0x80U >> (bit % 8);
    if ((first[bit / 8] & mask) != (second[bit / 8] & mask)) {
      return false;
    }
  }
  return true;
}

/// An address of X-Forwarded-For: some proxies add the port, "192.0.2.1:80" or "[2001:db8::1]:80".
std::optional<ip::address> ForwardedAddress(std::string_view text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    text = end == std::string_view::npos ? std::string_view() : text.substr(1, end - 1);
  } else if (std::ranges::count(text, ':') == 1) {
    text = text.substr(0, text.find(':'));
  }
  boost::system::error_code error;
  const ip::address address = ip::make_address(std::string(text), error);
  return error ? std::nullopt : std::optional(Plain(address));
}

}  // namespace

std::string TrustedProxies::Add(std::string_view text) {
  const std::string fault = proto::Quoted(text) + " is neither an IP address nor ADDRESS/BITS";
  const std::size_t slash = text.find('/');
  boost::system::error_code error;
  const ip::address address = ip::make_address(std::string(text.substr(0, slash)), error);
  if (error) {
    return fault;
  }
  Network network{Plain(address), address.is_v4() ? kBitsV4 : kBitsV6};
  if (slash != std::string_view::npos) {
    const std::string_view digits = text.substr(slash + 1);
    const char* const end = digits.data() + digits.size();
    unsigned bits = 0;
    const auto [stop, wrong] = std::from_chars(digits.data(), end, bits);
    if (wrong != std::errc() || stop != end || bits > network.bits) {
      return fault;
    }
    network.bits = bits;
  }
  // The bits of a mapped address were counted as those of IPv6.
  if (address.is_v6() && network.first.is_v4()) {
    if (network.bits < kBitsV6 - kBitsV4) {
      return fault;
    }
    network.bits -= kBitsV6 - kBitsV4;
  }
  networks_.push_back(network);
  return "";
}

bool TrustedProxies::Has(const ip::address& address) const {
  const ip::address plain = Plain(address);
  return std::ranges::any_of(networks_, [&plain](const Network& network) {
    return network.first.is_v4() == plain.is_v4() && AreSame(network.first, plain, network.bits);
  });
}

ip::address TrustedProxies::ClientOf(const ip::address& peer,
                                     std::string_view forwarded_for) const {
  ip::address client = peer;
  while (Has(client) && !forwarded_for.empty()) {
    const std::size_t comma = forwarded_for.rfind(',');
    const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
    const auto before = ForwardedAddress(proto::Trimmed(forwarded_for.substr(begin), " \t"));
    if (!before) {
      return client;
    }
    client = *before;
    forwarded_for = forwarded_for.substr(0, begin == 0 ? 0 : comma);
  }
  return client;
}

}  // namespace scorecast::coordinator
