#include "tests/coordinator/transports/tls/tls_client.h"

#include <memory>
#include <utility>

#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/http/http_protocol.h"
#include "coordinator/transports/socket/frame_protocol.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {

namespace asio = boost::asio;

namespace {

HttpOptions LongResource() {
  HttpOptions options;
  options.web.resources = {
      {"/long", [] {
         return Share({200, "text/plain", std::string(TlsPorts::kLongBytes, 'x')});
       }}};
  return options;
}

asio::ssl::context& Adapted(asio::ssl::context& context, const TlsClient::Options& options) {
  context.load_verify_file(options.ca);
  context.set_verify_mode(asio::ssl::verify_peer);
  if (!options.certificate.empty()) {
    context.use_certificate_chain_file(options.certificate);
    context.use_private_key_file(options.key, asio::ssl::context::pem);
  }
  if (options.adapt) {
    options.adapt(context.native_handle());
  }
  return context;
}

}  // namespace

TlsClient::TlsClient(std::uint16_t port, const Options& options)
    : stream_(io_, Adapted(context_, options)) {
  auto& socket = stream_.next_layer();
  socket.open(asio::ip::tcp::v4());
  socket.bind({asio::ip::make_address(options.own_address), 0});
  socket.connect({asio::ip::make_address("127.0.0.1"), port});
  SSL_set1_host(stream_.native_handle(), "localhost");
  stream_.handshake(asio::ssl::stream_base::client);
}

std::pair<int, std::string> TlsClient::Call(const std::string& bytes) {
  asio::write(stream_, asio::buffer(bytes));
  boost::beast::http::response_parser<boost::beast::http::string_body> parser;
  parser.body_limit(std::uint64_t{1} << 30);
  boost::beast::http::read(stream_, buffer_, parser);
  return {static_cast<int>(parser.get().result_int()), parser.get().body()};
}

std::string TlsClient::Protocol() {
  const unsigned char* name = nullptr;
  unsigned length = 0;
  SSL_get0_alpn_selected(stream_.native_handle(), &name, &length);
  return {reinterpret_cast<const char*>(name), length};
}

std::string TlsClient::ServerName() {
  char name[256] = "";
  X509_NAME_get_text_by_NID(
      X509_get_subject_name(SSL_get0_peer_certificate(stream_.native_handle())), NID_commonName,
      name, sizeof(name));
  return name;
}

void OfferProtocols(SSL_CTX* context, const std::string& list) {
  SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(list.data()),
                          static_cast<unsigned>(list.size()));
}

TlsPorts::TlsPorts(FakeSocketServer& server, std::shared_ptr<const TlsFiles> files)
    : http(server.server().Listen(OpenListeningSocket("127.0.0.1", 0),
                                  MakeHttpProtocol(server.service().endpoints(), LongResource()),
                                  {.tls = files, .protocols = {"http/1.1"}})),
      frames(server.server().Listen(
          OpenListeningSocket("127.0.0.1", 0), MakeFrameProtocol(server.service().endpoints()),
          {.tls = std::move(files), .protocols = {std::string(proto::kTlsProtocol)}})) {}

}  // namespace scorecast::coordinator
