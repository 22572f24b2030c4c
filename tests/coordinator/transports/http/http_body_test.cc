// Bodies: their limits, chunks, encodings, and those that wait for permission.

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/http/http_protocol.h"
#include "tests/coordinator/endpoints/held_endpoint.h"
#include "tests/coordinator/transports/http/fake_http_server.h"
#include "tests/coordinator/transports/web/compressed.h"

namespace scorecast::coordinator {
namespace http_body_test {

constexpr std::int64_t kMaxRequestBytes = 100'000;

SocketOptions SmallRequests() {
  SocketOptions options;
  options.max_request_bytes = kMaxRequestBytes;
  return options;
}

std::string ChunkedPost(const std::string& chunks, const std::string& fields = {}) {
  return "POST /v1/score HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n" + fields + "\r\n" +
         chunks;
}

TEST(HttpBody, MayComeInChunks) {
  FakeHttpServer server;
  HttpClient client = server.Connect();
  const std::string body = ScoreBody(3).dump();
  for (const std::size_t size : {std::size_t{1}, std::size_t{7}, body.size()}) {
    std::string chunks;
    for (std::size_t at = 0; at < body.size(); at += size) {
      chunks += Chunk(body.substr(at, size));
    }
    EXPECT_EQ(Stable(client.Call(ChunkedPost(chunks + "0\r\n\r\n")).Json()),
              server.ScoreOf(ScoreBody(3)));
    EXPECT_EQ(client.Call(ChunkedPost(chunks + "0;x=y\r\nA: b\r\n\r\n")).status, 200);
  }
  const HttpReply bad = client.Call(ChunkedPost("xyz\r\n"));
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(bad.Reason(), "bad_http");
  EXPECT_TRUE(client.IsClosed());
}

TEST(HttpBody, MayBeAnyBytes) {
  FakeHttpServer server;
  HttpClient client = server.Connect();
  for (int byte = 0; byte < 256; ++byte) {
    const HttpReply reply = client.Call(Post("/v1/score", std::string(1, static_cast<char>(byte))));
    EXPECT_EQ(reply.status, 400);
  }
}

TEST(HttpBody, HasALimit) {
  FakeHttpServer server(SmallRequests());
  nlohmann::json large = ScoreBody(1);
  large["ignored"] = "";
  const std::size_t rest = kMaxRequestBytes - large.dump().size();
  large["ignored"] = std::string(rest, 'x');
  EXPECT_EQ(server.Call(Post("/v1/score", large.dump())).status, 200);
  EXPECT_EQ(server.Call(ChunkedPost(Chunk(large.dump()) + "0\r\n\r\n")).status, 200);
  large["ignored"] = std::string(rest + 1, 'x');
  for (const std::string& request :
       {Post("/v1/score", large.dump()), ChunkedPost(Chunk(large.dump()) + "0\r\n\r\n"),
        ChunkedPost(Chunk(large.dump())), Post("/v1/score", large.dump().substr(0, 10)),
        ChunkedPost("ffffffffffffffff\r\n{"), ChunkedPost(Chunk("{") + "ffff0\r\n"),
        Post("/nothing", large.dump()), Post("/v1/score", std::string(10'000'000, 'x'))}) {
    HttpClient client = server.Connect();
    const HttpReply reply = client.Call(request);
    if (request.find("Content-Length: 10\r\n") != std::string::npos) {
      EXPECT_EQ(reply.Reason(), "invalid_json");
      continue;
    }
    EXPECT_EQ(reply.status, 413);
    EXPECT_EQ(reply.Reason(), "request_too_large");
    EXPECT_EQ(reply.Field("Connection"), "close");
    EXPECT_TRUE(client.IsClosed());
  }
  EXPECT_TRUE(Eventually([&] { return server.server().status().held_request_bytes == 0; }));
}

TEST(HttpBody, MayBeCompressed) {
  FakeHttpServer server(SmallRequests());
  HttpClient client = server.Connect();
  const std::string body = ScoreBody(4).dump();
  const nlohmann::json expected = server.ScoreOf(ScoreBody(4));
  const std::string gzip = Compressed(body, Format::kGzip);
  for (const std::string encoding : {"gzip", "x-gzip", "GZIP"}) {
    EXPECT_EQ(
        Stable(
            client.Call(Post("/v1/score", gzip, "Content-Encoding: " + encoding + "\r\n")).Json()),
        expected);
  }
  EXPECT_EQ(Stable(client
                       .Call(Post("/v1/score", Compressed(body, Format::kZlib),
                                  "Content-Encoding: deflate\r\n"))
                       .Json()),
            expected);
  EXPECT_EQ(Stable(client
                       .Call(Post("/v1/score", Compressed(body, Format::kZstd),
                                  "Content-Encoding: zstd\r\n"))
                       .Json()),
            expected);
  EXPECT_EQ(
      Stable(
          client.Call(ChunkedPost(Chunk(gzip) + "0\r\n\r\n", "Content-Encoding: gzip\r\n")).Json()),
      expected);
  EXPECT_EQ(client.Call(Post("/v1/score", body, "Content-Encoding: identity\r\n")).status, 200);
  EXPECT_EQ(client.Call(Post("/v1/score", body, "Content-Encoding: gzip\r\n")).Reason(),
            "bad_content_encoding");
  const std::string bomb = Compressed(std::string(50'000'000, ' '), Format::kGzip);
  ASSERT_LT(bomb.size(), static_cast<std::size_t>(kMaxRequestBytes));
  EXPECT_EQ(client.Call(Post("/v1/score", bomb, "Content-Encoding: gzip\r\n")).Reason(),
            "request_too_large");
  EXPECT_EQ(client.Call(ScorePost(1)).status, 200) << "on the same connection";
  EXPECT_TRUE(Eventually([&] { return server.server().status().held_request_bytes == 0; }));
}

TEST(HttpBody, ThatWaitsIsAskedForOnlyIfItIsWanted) {
  FakeHttpServer server(SmallRequests());
  const std::string body = ScoreBody(1).dump();
  const auto header = [](const std::string& path, std::size_t length, const std::string& fields) {
    return "POST " + path + " HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n" + fields +
           "Content-Length: " + std::to_string(length) + "\r\n\r\n";
  };
  {
    HttpClient client = server.Connect();
    for (int i = 0; i < 2; ++i) {
      client.Send(header("/v1/score", body.size(), ""));
      EXPECT_EQ(client.ReceiveUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
      EXPECT_EQ(client.Call(body).status, 200);
      EXPECT_EQ(client.Call(header("/v1/score", body.size(), "") + body).status, 200)
          << "it does not wait";
      EXPECT_EQ(client.Call(header("/v1/score", 0, "")).status, 400)
          << "there is nothing to ask for";
    }
  }
  for (const auto& [request, status] : std::vector<std::pair<std::string, int>>{
           {header("/nothing", 10, ""), 404},
           {header("/v1/score", kMaxRequestBytes + 1, ""), 413},
           {header("/v1/score", 10, "Content-Type: text/plain\r\n"), 415},
           {header("/v1/score", 10, "Content-Encoding: br\r\n"), 415}}) {
    HttpClient client = server.Connect();
    EXPECT_EQ(client.Call(request).status, status);
    EXPECT_TRUE(client.IsClosed());
  }
  server.service().StartDraining();
  EXPECT_EQ(server.Call(header("/v1/score", body.size(), "")).Reason(), "draining");
}

TEST(HttpBody, HoldsLittleWhileLittleHasArrived) {
  FakeHttpServer server;
  std::vector<std::unique_ptr<HttpClient>> clients;
  constexpr std::int64_t kClients = 20;
  for (std::int64_t i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->Send("POST /v1/score HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n{");
  }
  const auto held = [&] { return server.server().status().held_request_bytes; };
  ASSERT_TRUE(Eventually([&] { return held() >= kClients * 4096; }));
  EXPECT_LE(held(), kClients * 3 * 4096);
}

TEST(HttpBody, ACompressedOneWhoseTurnDoesNotComeIsRefused) {
  HeldEndpoint endpoint;
  const std::array<const Endpoint*, 1> endpoints = {&endpoint};
  FakeServer fake(FakeServer::MultiItem(), {}, endpoints);
  SocketOptions options;
  options.long_patience = std::chrono::milliseconds(50);
  RequestServer server(fake.service, options, 2);
  const std::uint16_t port = server.Listen(OpenListeningSocket("127.0.0.1", 0),
                                           MakeHttpProtocol(fake.service.endpoints(), {}));
  const auto post = [](std::size_t bytes) {
    const nlohmann::json body = {{"query", std::string(bytes, 'x')}};
    return Post("/v1/score", Compressed(body.dump(), Format::kGzip), "Content-Encoding: gzip\r\n");
  };
  std::vector<std::unique_ptr<HttpClient>> clients;
  constexpr int kClients = 5;
  for (int i = 0; i < kClients; ++i) {
    clients.push_back(std::make_unique<HttpClient>(port));
    clients.back()->Send(post(100'000));
  }
  // One of them is being parsed, by chance. The others do not wait for it.
  EXPECT_TRUE(Eventually([&] { return server.status().refusals["overloaded"] == kClients - 1; }));
  const std::string small = R"({"query":"x"})";
  EXPECT_EQ(HttpClient(port).Call(Post("/v1/score", small)).Reason(), "parsed");
  endpoint.Release();
  int refused = 0;
  for (const auto& client : clients) {
    const HttpReply reply = client->Receive();
    if (reply.status == 503) {
      ++refused;
      EXPECT_EQ(reply.Reason(), "overloaded");
      EXPECT_GE(std::stoi(reply.Field("Retry-After")), 1);
    } else {
      EXPECT_EQ(reply.Reason(), "parsed");
    }
    EXPECT_EQ(client->Call(post(100)).Reason(), "parsed") << "the connection goes on";
  }
  EXPECT_EQ(refused, kClients - 1);
  EXPECT_TRUE(Eventually([&] { return server.status().held_request_bytes == 0; }));
}

TEST(HttpBody, LargeOnesDelayNoneOfUpToAMebibyte) {
  HeldEndpoint endpoint;
  const std::array<const Endpoint*, 1> endpoints = {&endpoint};
  FakeServer fake(FakeServer::MultiItem(), {}, endpoints);
  RequestServer server(fake.service, {}, 2);
  const std::uint16_t port = server.Listen(OpenListeningSocket("127.0.0.1", 0),
                                           MakeHttpProtocol(fake.service.endpoints(), {}));
  // Its parsing is held, by its long query.
  const std::string large =
      R"({"query":")" + std::string(100'000, 'x') + "\"" + std::string(1'500'000, ' ') + "}";
  const std::string gzip = "Content-Encoding: gzip\r\n";
  std::vector<std::unique_ptr<HttpClient>> clients;
  const auto send = [&](const std::string& request) {
    clients.push_back(std::make_unique<HttpClient>(port));
    clients.back()->Send(request);
  };
  send(Post("/v1/score", large));
  send(Post("/v1/score", Compressed(large, Format::kGzip), gzip));
  // It claims to be small.
  send(Post("/v1/score", Compressed(large, Format::kGzip) + Compressed("", Format::kGzip), gzip));
  ASSERT_TRUE(Eventually([&] { return server.status().requests_in_flight == 3; }));
  const std::string small = R"({"query":"x")" + std::string(900'000, ' ') + "}";
  EXPECT_EQ(HttpClient(port).Call(Post("/v1/score", small)).Reason(), "parsed");
  EXPECT_EQ(
      HttpClient(port).Call(Post("/v1/score", Compressed(small, Format::kGzip), gzip)).Reason(),
      "parsed");
  EXPECT_EQ(server.status().requests_in_flight, 3);
  endpoint.Release();
  for (const auto& client : clients) {
    EXPECT_EQ(client->Receive().Reason(), "parsed");
  }
  EXPECT_TRUE(Eventually([&] { return server.status().held_request_bytes == 0; }));
}

TEST(HttpBody, CompressedOnesOfAnAddressWaitForEachOthersRoom) {
  SocketOptions options;
  options.max_held_bytes_per_address = 1'000'000;
  options.long_patience = std::chrono::minutes(2);  // A busy machine takes long for all of them.
  FakeHttpServer server(options);
  std::vector<std::unique_ptr<HttpClient>> clients;
  const std::string compressed = Compressed(std::string(900'000, ' '), Format::kGzip);
  for (int i = 0; i < 16; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->Send(Post("/v1/score", compressed, "Content-Encoding: gzip\r\n"));
  }
  for (const auto& client : clients) {
    EXPECT_EQ(client->Receive().Reason(), "invalid_json");
  }
  EXPECT_TRUE(Eventually([&] { return server.server().status().held_request_bytes == 0; }));
}

TEST(HttpBody, BeyondTheBytesOfAllClientsIsRefused) {
  SocketOptions options;
  options.max_held_bytes = 500'000;
  options.max_request_bytes = 300'000;
  FakeHttpServer server(options);
  HttpClient first = server.Connect();
  const std::string header = "POST /v1/score HTTP/1.1\r\nHost: h\r\nContent-Length: 250000\r\n\r\n";
  first.Send(header + std::string(200'000, ' '));
  ASSERT_TRUE(Eventually([&] { return server.server().status().held_request_bytes > 200'000; }));
  HttpClient second = server.Connect();
  const HttpReply reply = second.Call(header + std::string(250'000, ' '));
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.Reason(), "overloaded");
  EXPECT_EQ(reply.Field("Retry-After"), "1");
  EXPECT_EQ(first.Call(std::string(50'000, ' ')).Reason(), "invalid_json");
  EXPECT_TRUE(Eventually([&] {
    return server.Call(header + std::string(250'000, ' ')).Reason() == "invalid_json";
  })) << "the bytes are free again";
}

TEST(HttpBody, ThoseOfAnAddressWaitForEachOthersRoom) {
  SocketOptions options;
  options.max_held_bytes_per_address = 100'000;
  FakeHttpServer server(options);
  std::vector<std::unique_ptr<HttpClient>> clients;
  // Small enough for the system's buffers, so that no sending waits.
  const std::string post = Post("/v1/score", std::string(90'000, ' '));
  const std::size_t half = post.size() / 2;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::make_unique<HttpClient>(server.port()));
    clients.back()->Send(post.substr(0, half));
  }
  ASSERT_TRUE(Eventually([&] { return server.server().status().held_request_bytes > 70'000; }));
  EXPECT_EQ(server.Call(ScorePost(1)).status, 200) << "a short one has room";
  // The others are half read. Each can be read to its end, because one may exceed the limit.
  for (const auto& client : clients) {
    client->Send(post.substr(half));
  }
  for (const auto& client : clients) {
    EXPECT_EQ(client->Receive().Reason(), "invalid_json");
    EXPECT_EQ(client->Call(ScorePost(1)).status, 200);
  }
  // A body is freed after its reply is sent, by the thread that computed the reply.
  EXPECT_TRUE(Eventually([&] { return server.server().status().held_request_bytes < 1000; }));
}

TEST(HttpBody, OneThatWaitsTooLongForRoomIsRefused) {
  SocketOptions options;
  options.max_held_bytes_per_address = 300'000;
  options.long_patience = std::chrono::milliseconds(50);
  FakeHttpServer server(options);
  const std::string post = Post("/v1/score", std::string(400'000, ' '));
  HttpClient first = server.Connect();
  first.Send(post.substr(0, 390'000));
  ASSERT_TRUE(Eventually([&] { return server.server().status().held_request_bytes > 300'000; }));
  HttpClient second = server.Connect();
  const HttpReply reply = second.Call(post);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.Reason(), "overloaded");
  EXPECT_EQ(reply.Field("Retry-After"), "1");
  EXPECT_EQ(first.Call(post.substr(390'000)).Reason(), "invalid_json");
}

}  // namespace http_body_test
}  // namespace scorecast::coordinator
