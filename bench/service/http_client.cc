#include "bench/service/http_client.h"

#include <stdexcept>
#include <utility>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/http.hpp>

namespace scorecast::bench {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;

HttpClient::HttpClient(const std::string& address) : stream_(io_) {
  const std::size_t colon = address.rfind(':');
  stream_.connect(tcp::resolver(io_).resolve(address.substr(0, colon), address.substr(colon + 1)));
  stream_.socket().set_option(tcp::no_delay(true));
}

std::string HttpClient::Post(const std::string& path, const std::string& body) {
  http::request<http::string_body> request{http::verb::post, path, 11, body};
  request.set(http::field::host, "localhost");
  request.set(http::field::content_type, "application/json");
  request.prepare_payload();
  http::write(stream_, request);
  http::response<http::string_body> response;
  http::read(stream_, received_, response);
  if (response.result() != http::status::ok) {
    throw std::runtime_error("the service refused a request: " + response.body());
  }
  return std::move(response.body());
}

}  // namespace scorecast::bench
