#include "coordinator/access/proxy_header.h"

#include <algorithm>
#include <string>

namespace scorecast::coordinator {
namespace {

namespace ip = boost::asio::ip;
using State = ProxyHeader::State;

constexpr std::string_view kSignature1 = "PROXY ";
constexpr std::string_view kSignature2("\r\n\r\n\0\r\nQUIT\n", 12);

/// With its end.
constexpr std::size_t kMaxLineBytes = 107;

/// Whether the texts are the same as far as both go.
bool Agree(std::string_view a, std::string_view b) {
  const std::size_t size = std::min(a.size(), b.size());
  return a.substr(0, size) == b.substr(0, size);
}

/// "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n" or "PROXY UNKNOWN…\r\n"
ProxyHeader ParseLine(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n");
  if (end == std::string_view::npos) {
    return {bytes.size() < kMaxLineBytes ? State::kPart : State::kBad, 0, std::nullopt};
  }
  if (end + 2 > kMaxLineBytes) {
    return {State::kBad, 0, std::nullopt};
  }
  std::string_view rest = bytes.substr(kSignature1.size(), end - kSignature1.size());
  const auto next = [&rest] {
    const std::string_view word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    return word;
  };
  const std::string_view kind = next();
  if (kind == "UNKNOWN") {
    return {State::kWhole, end + 2, std::nullopt};
  }
  boost::system::error_code error;
  const ip::address client = ip::make_address(std::string(next()), error);
  const bool is_kind = kind == (client.is_v4() ? "TCP4" : "TCP6");
  return error || !is_kind ? ProxyHeader{State::kBad, 0, std::nullopt}
                           : ProxyHeader{State::kWhole, end + 2, client};
}

/// The signature, version and command, family and protocol, the length of the rest (big-endian),
/// and the rest: the addresses of the source and of the destination come first.
ProxyHeader ParseBinary(std::string_view bytes) {
  constexpr std::size_t kFixedBytes = 16;
  constexpr unsigned kInet = 1;
  constexpr unsigned kInet6 = 2;
  if (bytes.size() < kFixedBytes) {
    return {State::kPart, 0, std::nullopt};
  }
  const auto byte = [bytes](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
  const unsigned version = byte(12) >> 4;
  const unsigned command = byte(12) & 15U;
  const unsigned family = byte(13) >> 4;
  const std::size_t length = 256U * byte(14) + byte(15);
  if (version != 2 || command > 1 || kFixedBytes + length > kMaxProxyHeaderBytes) {
    return {State::kBad, 0, std::nullopt};
  }
  if (bytes.size() < kFixedBytes + length) {
    return {State::kPart, 0, std::nullopt};
  }
  ProxyHeader header{State::kWhole, kFixedBytes + length, std::nullopt};
  if (command == 0) {
    return header;  // LOCAL
  }
  const auto read = [&](auto address) {
    const bool has_room = length >= 2 * address.size() + 4;
    if (has_room) {
      std::copy_n(bytes.begin() + kFixedBytes, address.size(), address.begin());
      header.client = [&address] {
        if constexpr (std::tuple_size_v<decltype(address)> == 4) {
          return ip::address(ip::address_v4(address));
        } else {
          return ip::address(ip::address_v6(address));
        }
      }();
    } else {
      header = {State::kBad, 0, std::nullopt};
    }
  };
  if (family == kInet) {
    read(ip::address_v4::bytes_type{});
  } else if (family == kInet6) {
    read(ip::address_v6::bytes_type{});
  }
  return header;
}

}  // namespace

ProxyHeader ParseProxyHeader(std::string_view bytes) {
  for (const std::string_view signature : {kSignature1, kSignature2}) {
    if (Agree(bytes, signature)) {
      if (bytes.size() < signature.size()) {
        return {State::kPart, 0, std::nullopt};
      }
      return signature == kSignature1 ? ParseLine(bytes) : ParseBinary(bytes);
    }
  }
  return {};
}

}  // namespace scorecast::coordinator
