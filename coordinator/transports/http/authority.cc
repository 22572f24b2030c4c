#include "coordinator/transports/http/authority.h"

#include <algorithm>
#include <charconv>

#include <boost/asio/ip/address.hpp>

#include "coordinator/transports/connection/client_address.h"
#include "proto/base/letter_case.h"

namespace scorecast::coordinator {
namespace {

namespace ip = boost::asio::ip;
using boost::system::error_code;

bool IsNameCharacter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-' || c == '_' || c == '.';
}

/// The address in its usual form; nothing if the text is none.
std::optional<std::string> AddressOf(std::string_view text) {
  error_code error;
  const ip::address address = ip::make_address(std::string(text), error);
  if (error) {
    return std::nullopt;
  }
  return Unmapped(address).to_string();
}

/// The number of a port; nothing if the text is none.
std::optional<std::uint16_t> PortOf(std::string_view text) {
  std::uint16_t port = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc() || rest != end) {
    return std::nullopt;
  }
  return port;
}

/// The port that URLs of a scheme have if they name none.
std::optional<std::uint16_t> UsualPort(std::string_view scheme) {
  if (proto::EqualsWithoutCase(scheme, "http")) {
    return 80;
  }
  if (proto::EqualsWithoutCase(scheme, "https")) {
    return 443;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> HostOf(std::string_view text) {
  if (text.starts_with('[')) {
    return text.ends_with(']') && text.find(':') != std::string_view::npos
               ? AddressOf(text.substr(1, text.size() - 2))
               : std::nullopt;
  }
  if (text.find(':') != std::string_view::npos) {
    return AddressOf(text);
  }
  if (text.ends_with('.')) {
    text.remove_suffix(1);
  }
  std::string name = proto::ToLower(text);
  if (name.empty() || name.starts_with('.') || name.ends_with('.') ||
      name.find("..") != std::string::npos || !std::ranges::all_of(name, IsNameCharacter)) {
    return std::nullopt;
  }
  return AddressOf(name).value_or(name);
}

std::optional<Authority> ParseAuthority(std::string_view text) {
  // The colons of an IPv6 address stand before its closing bracket.
  const std::size_t address_end = text.starts_with('[') ? text.find(']') : 0;
  const std::size_t colon = text.find(':', address_end);
  const auto host = HostOf(text.substr(0, colon));
  if (!host) {
    return std::nullopt;
  }
  // The port may be empty.
  if (colon == std::string_view::npos || colon + 1 == text.size()) {
    return Authority{*host, std::nullopt};
  }
  const auto port = PortOf(text.substr(colon + 1));
  return port ? std::optional(Authority{*host, port}) : std::nullopt;
}

bool IsLoopbackHost(const std::string& host) {
  error_code error;
  const ip::address address = ip::make_address(host, error);
  return host == "localhost" || (!error && address.is_loopback());
}

bool IsOriginOf(const Authority& authority, std::string_view origin) {
  const std::size_t scheme_end = origin.find("://");
  if (scheme_end == std::string_view::npos) {
    return false;
  }
  const auto usual_port = UsualPort(origin.substr(0, scheme_end));
  const auto of_origin = ParseAuthority(origin.substr(scheme_end + 3));
  return usual_port && of_origin && of_origin->host == authority.host &&
         of_origin->port.value_or(*usual_port) == authority.port.value_or(*usual_port);
}

}  // namespace scorecast::coordinator
