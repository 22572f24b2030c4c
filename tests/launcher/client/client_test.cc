// The client library, against servers that are silent, lie, or end.

#include "launcher/client/client.h"

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/client/retrying_call.h"
#include "proto/wire/frame.h"

namespace scorecast::launcher {
namespace client_test {

namespace asio = boost::asio;
using asio::ip::tcp;
using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr auto kPatience = std::chrono::seconds(60);

/// Listens on a free port, and serves one connection after the other by the functions given.
class ScriptedServer {
 public:
  using Serve = std::function<void(tcp::socket&)>;

  explicit ScriptedServer(std::vector<Serve> script)
      : acceptor_(io_, {asio::ip::make_address("127.0.0.1"), 0}),
        thread_([this, script = std::move(script)] {
          for (const Serve& serve : script) {
            tcp::socket socket = acceptor_.accept();
            serve(socket);
          }
        }) {}
  ~ScriptedServer() { thread_.join(); }

  std::string address() const {
    return "127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  ServerLocation location() const { return ServerLocation::At(address()); }

 private:
  asio::io_context io_;
  tcp::acceptor acceptor_;
  std::thread thread_;
};

void ReadRequest(tcp::socket& socket) {
  proto::FrameHeader header{};
  asio::read(socket, asio::buffer(header));
  std::string message(proto::FrameLength(header), '\0');
  asio::read(socket, asio::buffer(message));
}

void Reply(tcp::socket& socket) {
  ReadRequest(socket);
  v1::Response response;
  response.mutable_score()->set_model("m");
  asio::write(socket, asio::buffer(proto::ToFrame(response)));
}

/// Sends nothing, and reads until the client closes.
void BeSilent(tcp::socket& socket) {
  char byte = 0;
  boost::system::error_code error;
  while (!error) {
    asio::read(socket, asio::buffer(&byte, 1), error);
  }
}

/// Reads a byte, and resets the connection.
void Reset(tcp::socket& socket) {
  char byte = 0;
  asio::read(socket, asio::buffer(&byte, 1));
  socket.set_option(tcp::socket::linger(true, 0));
  socket.close();
}

v1::Request SomeRequest() {
  v1::Request request;
  request.mutable_score()->mutable_query()->set_text("q");
  return request;
}

std::string FaultOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& fault) {
    return fault.what();
  }
  return "";
}

TEST(Client, WaitsForASilentServerOnlyForSomeTime) {
  ScriptedServer server({BeSilent});
  Client client(server.address(), {.timeout = milliseconds(200)});
  EXPECT_THROW(client.Call(SomeRequest()), TimedOut);
}

TEST(Client, AResetIsALostConnectionWithAndWithoutTls) {
  ScriptedServer server({Reset, Reset});
  EXPECT_THROW(Client(server.address(), {.timeout = kPatience}).Call(SomeRequest()),
               ConnectionLost);
  const proto::ClientTls tls{proto::TlsContext::OfClient({})};
  EXPECT_THROW(Client(server.address(), {.timeout = kPatience, .tls = tls}), ConnectionLost);
}

TEST(Client, TheTimeOfAReplyDoesNotBeginAnewWithEachByte) {
  ScriptedServer server({[](tcp::socket& socket) {
    asio::write(socket, asio::buffer(std::string("\0\0\1\0", 4)));
    boost::system::error_code error;
    while (!error) {
      asio::write(socket, asio::buffer("x", 1), error);
      std::this_thread::sleep_for(milliseconds(10));
    }
  }});
  Client client(server.address(), {.timeout = milliseconds(300)});
  EXPECT_THROW(client.Receive(), TimedOut);
}

TEST(Client, ALongReplyIsNotRead) {
  ScriptedServer server({[](tcp::socket& socket) {
    asio::write(socket, asio::buffer(std::string(4, '\xff')));
    BeSilent(socket);
  }});
  Client client(server.address(), {.timeout = kPatience, .max_reply_bytes = 1000});
  EXPECT_EQ(FaultOf([&] { client.Receive(); }),
            "the server's reply is too large: 4294967295 > 1000 bytes");
}

TEST(Client, APortOfHttpIsNamed) {
  ScriptedServer server({[](tcp::socket& socket) {
    asio::write(socket, asio::buffer(std::string_view("HTTP/1.1 400 Bad Request\r\n\r\n")));
    BeSilent(socket);
  }});
  Client client(server.address(), {.timeout = kPatience});
  EXPECT_THAT(FaultOf([&] { client.Receive(); }), HasSubstr("this is a port of HTTP"));
}

TEST(Client, ALengthTakesNoMemoryBeforeItsBytesArrive) {
  ScriptedServer server({[](tcp::socket& socket) {
    asio::write(socket, asio::buffer(std::string(4, '\xff') + "few bytes"));
  }});
  Client client(server.address(), {.timeout = kPatience, .max_reply_bytes = SIZE_MAX});
  EXPECT_THAT(FaultOf([&] { client.Receive(); }), HasSubstr("closed the connection"));
}

TEST(RetryingCall, TriesAgainIfTheConnectionIsLost) {
  ScriptedServer server({[](tcp::socket&) {}, ReadRequest, Reply});
  const v1::Response response =
      RetryingCall(server.location(), SomeRequest(), {.timeout = kPatience});
  EXPECT_EQ(response.score().model(), "m");
}

TEST(RetryingCall, ARequestThatEndsTheServerIsNotSentForEver) {
  ScriptedServer server({ReadRequest, ReadRequest, ReadRequest, ReadRequest});
  EXPECT_THAT(
      FaultOf([&] { RetryingCall(server.location(), SomeRequest(), {.timeout = kPatience}); }),
      HasSubstr("closed the connection"));
}

TEST(RetryingCall, AStreamThatHasBegunIsNotBegunAnew) {
  ScriptedServer server({[](tcp::socket& socket) {
    ReadRequest(socket);
    v1::Response delta;
    delta.mutable_chunked_delta()->set_text("d");
    asio::write(socket, asio::buffer(proto::ToFrame(delta)));
  }});
  std::string text;
  const auto on_delta = [&](const v1::Response& delta) { text += delta.chunked_delta().text(); };
  EXPECT_THAT(FaultOf([&] {
                RetryingCall(server.location(), SomeRequest(), {.timeout = kPatience}, on_delta);
              }),
              HasSubstr("closed the connection"));
  EXPECT_EQ(text, "d");
}

TEST(RetryingCall, WaitsForAServerThatStarts) {
  asio::io_context io;
  tcp::acceptor acceptor(io, tcp::v4());
  acceptor.bind({asio::ip::make_address("127.0.0.1"), 0});  // Refuses until it listens.
  const std::string address = "127.0.0.1:" + std::to_string(acceptor.local_endpoint().port());
  std::thread starting([&] {
    std::this_thread::sleep_for(milliseconds(300));
    acceptor.listen();
    tcp::socket socket = acceptor.accept();
    Reply(socket);
  });
  EXPECT_TRUE(
      RetryingCall(ServerLocation::At(address), SomeRequest(), {.timeout = kPatience}).has_score());
  starting.join();
}

TEST(RetryingCall, TheTimeBoundsAllAttemptsTogether) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(FaultOf([&] {
                RetryingCall(ServerLocation::At("127.0.0.1:1"), SomeRequest(),
                             {.timeout = milliseconds(400)});
              }),
              HasSubstr("cannot connect to 127.0.0.1:1: "));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(8));
  ScriptedServer server({BeSilent});
  EXPECT_THROW(RetryingCall(server.location(), SomeRequest(), {.timeout = milliseconds(200)}),
               TimedOut);
}

}  // namespace client_test
}  // namespace scorecast::launcher
