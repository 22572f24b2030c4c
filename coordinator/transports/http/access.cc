#include "coordinator/transports/http/access.h"

#include <algorithm>

#include "coordinator/request/request_error.h"
#include "coordinator/transports/http/authority.h"
#include "coordinator/transports/http/cors.h"
#include "coordinator/transports/web/field_value.h"

namespace scorecast::coordinator {
namespace {

/// Names of hosts have no more bytes.
constexpr std::size_t kMaxHost = 253;

bool AllowsHost(const std::vector<std::string>& allowed, const std::string& host) {
  return IsLoopbackHost(host) || std::ranges::any_of(allowed, [&host](const std::string& one) {
           return HostOf(one) == host;
         });
}

std::optional<proto::Error> HostFault(const HttpOptions& options, const RequestHead& head) {
  // Browsers name a host in every request. Simple probes of HTTP/1.0 do not.
  if (!options.is_on_loopback || head.host.empty() ||
      std::ranges::count(options.allowed_hosts, "*") > 0) {
    return std::nullopt;
  }
  const auto authority = ParseAuthority(head.host);
  if (authority && AllowsHost(options.allowed_hosts, authority->host)) {
    return std::nullopt;
  }
  const std::string flag = authority
                               ? "with --allowed-host " + proto::OneLine(authority->host, kMaxHost)
                               : "with its name as --allowed-host";
  return proto::Error{403, "host_not_allowed",
                      "The Host " + Quoted(head.host, kMaxHost) +
                          " is not allowed, because HTTP listens on a loopback address. If it is "
                          "this server's, start it " +
                          flag + ".",
                      "Host"};
}

std::optional<proto::Error> OriginFault(const HttpOptions& options, const RequestHead& head) {
  if (head.origin.empty() || AllowsOrigin(options.cors_origins, head.origin)) {
    return std::nullopt;
  }
  const auto authority = ParseAuthority(head.host);
  if (authority && IsOriginOf(*authority, head.origin)) {
    return std::nullopt;
  }
  // The browser compares with the host that it knows. A proxy may have changed the Host. Pages
  // cannot set this field.
  if (head.fetch_site == "same-origin") {
    return std::nullopt;
  }
  return proto::Error{403, "origin_not_allowed",
                      "The Origin " + Quoted(head.origin, kMaxHost) +
                          " is not allowed. If its pages may use this server, start it with "
                          "--cors-origin " +
                          proto::OneLine(head.origin, kMaxHost) + ".",
                      "Origin"};
}

}  // namespace

std::optional<proto::Error> AccessFault(const HttpOptions& options, const RequestHead& head) {
  auto fault = HostFault(options, head);
  return fault ? std::move(fault) : OriginFault(options, head);
}

std::string AllowedHostFault(const std::string& text) {
  return text == "*" || HostOf(text)
             ? ""
             : Quoted(text) +
                   " is neither a host's name or IP address, without scheme and port, nor *";
}

}  // namespace scorecast::coordinator
