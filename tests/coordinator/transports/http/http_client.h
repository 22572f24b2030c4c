#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <nlohmann/json.hpp>

namespace scorecast::coordinator {

/// A reply as a client has it.
struct HttpReply {
  int status = 0;
  std::map<std::string, std::string> fields;  ///< Names in lower case.
  std::string body;                           ///< Without chunks.

  /// An empty text if the reply has no such field.
  std::string Field(const std::string& name) const;
  /// null if the body is not JSON.
  nlohmann::json Json() const;
  /// `reason` of an error; empty if the body is none.
  std::string Reason() const;
};

/// A connection that sends bytes as they are, and reads replies one after another. Each read takes
/// 30 s at most, then fails. Failures are exceptions. One thread may send while another reads.
class HttpClient {
 public:
  explicit HttpClient(std::uint16_t port, const std::string& own_address = "127.0.0.1");

  void Send(const std::string& bytes);
  /// `to_head`: the reply to a HEAD, which has no body.
  HttpReply Receive(bool to_head = false);
  HttpReply Call(const std::string& bytes) {
    Send(bytes);
    return Receive();
  }
  /// The next bytes, up to those of `end` with them.
  std::string ReceiveUntil(const std::string& end);
  /// The bytes up to the end of the connection.
  std::string ReceiveAll();
  /// True if the server closes the connection without a further byte.
  bool IsClosed();
  void CloseSending();

 private:
  /// Reads at least one byte into `buffer_`.
  void ReadSome();
  /// Runs what was begun, which must end within 30 s.
  void Run();

  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
  boost::beast::flat_buffer buffer_;
};

/// A POST of a body. `fields` are further lines of the header, each with its end.
std::string Post(const std::string& path, const std::string& body, const std::string& fields = {});
/// A GET.
std::string Get(const std::string& path, const std::string& fields = {});
/// The bytes as one chunk, without the last one.
std::string Chunk(const std::string& bytes);

}  // namespace scorecast::coordinator
