#include "launcher/address/service_address.h"

#include <cstdlib>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/host_name.hpp>
#include <nlohmann/json.hpp>

namespace scorecast::launcher {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// The member `name` of an object if it is a string.
std::optional<std::string> StringOf(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? std::optional(found->get<std::string>())
                                                     : std::nullopt;
}

/// The member `name` of an object if it is an integer from 1 to `last`.
std::optional<std::int64_t> NumberOf(const json& object, const char* name, std::int64_t last) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned() ||
      found->get<std::uint64_t>() > static_cast<std::uint64_t>(last) || *found == 0) {
    return std::nullopt;
  }
  return found->get<std::int64_t>();
}

bool IsIp(const std::string& text) {
  boost::system::error_code error;
  boost::asio::ip::make_address(text, error);
  return !error;
}

}  // namespace

std::string IpPort::ToText() const {
  return (ip.find(':') == std::string::npos ? ip : "[" + ip + "]") + ":" + std::to_string(port);
}

std::string ServiceAddress::ToJson() const {
  ordered_json object = {{"host", host}, {"ip", requests.ip}, {"port", requests.port}};
  if (http) {
    object["http_port"] = http->port;
    if (http->ip != requests.ip) {
      object["http_ip"] = http->ip;
    }
  }
  object["pid"] = pid;
  if (job_id) {
    object["job_id"] = *job_id;
  }
  // A name that is not UTF-8 must not prevent the service from starting.
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::optional<ServiceAddress> ServiceAddress::FromJson(std::string_view text) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object()) {
    return std::nullopt;
  }
  const auto host = StringOf(object, "host");
  const auto ip = StringOf(object, "ip");
  const auto port = NumberOf(object, "port", UINT16_MAX);
  const auto pid = NumberOf(object, "pid", INT32_MAX);
  if (!host || !ip || !IsIp(*ip) || !port || !pid) {
    return std::nullopt;
  }
  ServiceAddress address;
  address.host = *host;
  address.requests = {*ip, static_cast<std::uint16_t>(*port)};
  if (const auto http_port = NumberOf(object, "http_port", UINT16_MAX)) {
    address.http = {StringOf(object, "http_ip").value_or(*ip),
                    static_cast<std::uint16_t>(*http_port)};
  }
  address.pid = static_cast<pid_t>(*pid);
  address.job_id = StringOf(object, "job_id");
  return address;
}

std::string OwnHostName() {
  boost::system::error_code error;
  return boost::asio::ip::host_name(error);
}

std::optional<std::string> OwnJobId() {
  for (const char* variable : {"SLURM_JOB_ID", "PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && *value != '\0') {
      return value;
    }
  }
  return std::nullopt;
}

}  // namespace scorecast::launcher
