#include "bench/service/http_client.h"

#include <stdexcept>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

namespace scorecast::bench {
namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

http::request<http::string_body> RequestOf(http::verb method, const std::string& path) {
  http::request<http::string_body> request{method, path, 11};
  request.set(http::field::host, "localhost");
  return request;
}

}  // namespace

struct HttpClient::Connection {
  std::string Call(const http::request<http::string_body>& request) {
    http::write(stream, request);
    http::response<http::string_body> response;
    http::read(stream, received, response);
    if (response.result() != http::status::ok) {
      throw std::runtime_error("the service refused a request: " + response.body());
    }
    return std::move(response.body());
  }

  boost::asio::io_context io;
  boost::beast::tcp_stream stream{io};
  boost::beast::flat_buffer received;
};

HttpClient::HttpClient(const std::string& address) : connection_(std::make_unique<Connection>()) {
  const std::size_t colon = address.rfind(':');
  connection_->stream.connect(
      tcp::resolver(connection_->io).resolve(address.substr(0, colon), address.substr(colon + 1)));
  connection_->stream.socket().set_option(tcp::no_delay(true));
}

HttpClient::~HttpClient() = default;

std::string HttpClient::Post(const std::string& path, const std::string& body) {
  http::request<http::string_body> request = RequestOf(http::verb::post, path);
  request.set(http::field::content_type, "application/json");
  request.body() = body;
  request.prepare_payload();
  return connection_->Call(request);
}

std::string HttpClient::Get(const std::string& path) {
  return connection_->Call(RequestOf(http::verb::get, path));
}

}  // namespace scorecast::bench
