#pragma once

#include <memory>
#include <string>

namespace scorecast::bench {

/// A connection to a service over HTTP, which is kept. Calls block. They throw std::runtime_error
/// if the connection fails, or if the code of the response is not 200.
class HttpClient {
 public:
  /// `address`: HOST:PORT.
  explicit HttpClient(const std::string& address);
  ~HttpClient();

  /// Posts a body of JSON and returns that of the response.
  std::string Post(const std::string& path, const std::string& body);
  /// The body of a resource.
  std::string Get(const std::string& path);

 private:
  struct Connection;

  std::unique_ptr<Connection> connection_;
};

}  // namespace scorecast::bench
