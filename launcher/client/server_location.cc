#include "launcher/client/server_location.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <system_error>

#include <boost/asio/ip/address.hpp>

#include "launcher/address/service_address.h"
#include "launcher/client/client.h"
#include "proto/base/one_line.h"

namespace scorecast::launcher {
namespace {

std::string PathText(const std::filesystem::path& path) {
  return proto::OneLinePath(path.string());
}

}  // namespace

std::string ServerLocation::Address() const {
  if (file_.empty()) {
    return address_;
  }
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(file_, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw std::runtime_error(PathText(file_) + " is not a regular file");
  }
  errno = 0;
  std::ifstream file(file_, std::ios::binary);
  if (!file) {
    const std::string message = "cannot read " + PathText(file_) + ": " + std::strerror(errno);
    if (errno == ENOENT) {
      throw ConnectionLost(message + "; a service writes it when it is ready");
    }
    throw std::runtime_error(message);
  }
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::optional<ServiceAddress> address = ServiceAddress::FromJson(text);
  if (!address) {
    throw std::runtime_error(PathText(file_) + " is not a file that serve --address-file writes");
  }
  if (boost::asio::ip::make_address(address->requests.ip).is_loopback() &&
      address->host != OwnHostName()) {
    throw std::runtime_error(
        "the service of " + PathText(file_) + " listens on " + address->requests.ip + " of host " +
        proto::OneLine(address->host) +
        " only; start it with --host 0.0.0.0 and --api-keys FILE to reach it from other "
        "hosts");
  }
  return address->requests.ToText();
}

std::string ServerLocation::Name() const {
  return file_.empty() ? address_ : "the service of " + PathText(file_);
}

}  // namespace scorecast::launcher
