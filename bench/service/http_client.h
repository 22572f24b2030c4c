#pragma once

#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>

namespace scorecast::bench {

/// A connection to a service over HTTP, which is kept. Calls block. Throws std::runtime_error if
/// the connection fails.
class HttpClient {
 public:
  /// `address`: HOST:PORT.
  explicit HttpClient(const std::string& address);

  /// Posts a body of JSON and returns that of the response. Throws if its code is not 200.
  std::string Post(const std::string& path, const std::string& body);

 private:
  boost::asio::io_context io_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer received_;
};

}  // namespace scorecast::bench
