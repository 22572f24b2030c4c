#include "tests/coordinator/transports/http/http_client.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <stdexcept>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <poll.h>
#include <sys/socket.h>

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr auto kPatience = std::chrono::seconds(30);

std::string ToLower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

}  // namespace

std::string HttpReply::Field(const std::string& name) const {
  const auto found = fields.find(ToLower(name));
  return found == fields.end() ? "" : found->second;
}

nlohmann::json HttpReply::Json() const {
  const auto json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? nlohmann::json() : json;
}

std::string HttpReply::Reason() const {
  const nlohmann::json json = Json();
  return json.is_object() ? json.value("reason", "") : "";
}

HttpClient::HttpClient(std::uint16_t port, const std::string& own_address) {
  socket_.open(asio::ip::tcp::v4());
  socket_.bind({asio::ip::make_address(own_address), 0});
  socket_.connect({asio::ip::make_address("127.0.0.1"), port});
  socket_.set_option(asio::ip::tcp::no_delay(true));
}

void HttpClient::Send(const std::string& bytes) {
  // The system's own calls, because those of Asio change the socket's state, which a read in
  // another thread uses.
  const int file = socket_.native_handle();
  for (std::size_t sent = 0; sent < bytes.size();) {
    const ssize_t count = send(file, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
      continue;
    }
    if (errno != EAGAIN && errno != EINTR) {
      throw boost::system::system_error(errno, boost::system::system_category(), "send");
    }
    pollfd writable{.fd = file, .events = POLLOUT, .revents = 0};
    poll(&writable, 1, -1);
  }
}

HttpReply HttpClient::Receive(bool to_head) {
  http::response_parser<http::string_body> parser;
  parser.body_limit(std::uint64_t{1} << 30);
  parser.skip(to_head);
  boost::system::error_code error;
  // Asynchronous, because a blocking read has no time limit.
  http::async_read(socket_, buffer_, parser,
                   [&](const boost::system::error_code& result, std::size_t) { error = result; });
  Run();
  if (error) {
    throw std::runtime_error("no reply: " + error.message());
  }
  HttpReply reply;
  reply.status = static_cast<int>(parser.get().result_int());
  reply.body = parser.get().body();
  for (const auto& field : parser.get()) {
    const auto name = field.name_string();
    const auto value = field.value();
    reply.fields.emplace(ToLower({name.data(), name.size()}),
                         std::string(value.data(), value.size()));
  }
  return reply;
}

void HttpClient::Run() {
  io_.restart();
  io_.run_for(kPatience);
  if (!io_.stopped()) {
    throw std::runtime_error("the server sends nothing");
  }
}

void HttpClient::ReadSome() {
  boost::system::error_code error;
  std::size_t read = 0;
  socket_.async_read_some(buffer_.prepare(4096),
                          [&](const boost::system::error_code& result, std::size_t bytes) {
                            error = result;
                            read = bytes;
                          });
  Run();
  buffer_.commit(read);
  if (error) {
    throw boost::system::system_error(error);
  }
}

std::string HttpClient::ReceiveUntil(const std::string& end) {
  for (;;) {
    const auto data = buffer_.data();
    const std::string have(static_cast<const char*>(data.data()), data.size());
    if (const std::size_t found = have.find(end); found != std::string::npos) {
      buffer_.consume(found + end.size());
      return have.substr(0, found + end.size());
    }
    ReadSome();
  }
}

std::string HttpClient::ReceiveAll() {
  try {
    for (;;) {
      ReadSome();
    }
  } catch (const boost::system::system_error& fault) {
    if (fault.code() != asio::error::eof) {
      throw;
    }
  }
  const auto data = buffer_.data();
  return {static_cast<const char*>(data.data()), data.size()};
}

bool HttpClient::IsClosed() {
  if (buffer_.size() > 0) {
    return false;
  }
  try {
    ReadSome();
    return false;
  } catch (const boost::system::system_error& fault) {
    return fault.code() == asio::error::eof || fault.code() == asio::error::connection_reset;
  }
}

void HttpClient::CloseSending() { socket_.shutdown(asio::ip::tcp::socket::shutdown_send); }

std::string Post(const std::string& path, const std::string& body, const std::string& fields) {
  return "POST " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string Get(const std::string& path, const std::string& fields) {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}

std::string Chunk(const std::string& bytes) {
  char size[32];
  std::snprintf(size, sizeof(size), "%zx\r\n", bytes.size());
  return size + bytes + "\r\n";
}

}  // namespace scorecast::coordinator
