#include "launcher/client/client.h"

#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include "proto/wire/frame.h"

namespace scorecast::launcher {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// HOST and PORT of "HOST:PORT".
std::pair<std::string, std::string> SplitAddress(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const char* const port = address.c_str() + colon + 1;  // The whole address if it has no colon.
  const char* const end = address.c_str() + address.size();
  // Checked here, because the resolver takes 70000 for 4464.
  std::uint16_t number = 0;
  const auto [stop, fault] = std::from_chars(port, end, number);
  if (colon == std::string::npos || fault != std::errc() || stop != end || number == 0) {
    throw std::runtime_error("\"" + address + "\" is not HOST:PORT");
  }
  std::string host = address.substr(0, colon);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  return {host, address.substr(colon + 1)};
}

}  // namespace

Client::Client(const std::string& address) : socket_(io_) {
  const auto [host, port] = SplitAddress(address);
  error_code error;
  tcp::resolver resolver(io_);
  const auto endpoints = resolver.resolve(host, port, error);
  if (!error) {
    asio::connect(socket_, endpoints, error);
  }
  if (error) {
    throw std::runtime_error("cannot connect to " + address + ": " + error.message());
  }
  socket_.set_option(tcp::no_delay(true));
}

void Client::Send(const v1::Request& request) {
  error_code error;
  asio::write(socket_, asio::buffer(proto::ToFrame(request)), error);
  if (error) {
    throw std::runtime_error("the server closed the connection: " + error.message());
  }
}

v1::Response Client::Receive() {
  proto::FrameHeader header{};
  error_code error;
  asio::read(socket_, asio::buffer(header), error);
  std::string message;
  if (!error) {
    message.resize(proto::FrameLength(header));
    asio::read(socket_, asio::buffer(message), error);
  }
  if (error) {
    throw std::runtime_error("the server closed the connection: " + error.message());
  }
  v1::Response response;
  if (!response.ParseFromString(message)) {
    throw std::runtime_error("the server's reply is not a scorecast.v1.Response");
  }
  return response;
}

v1::Response Client::Call(const v1::Request& request) {
  Send(request);
  return Receive();
}

}  // namespace scorecast::launcher
