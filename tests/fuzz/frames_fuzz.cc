// Arbitrary bytes that a client writes to the request socket. Every complete frame and every frame
// that is too large gets one reply with its request's id, and the next client is served.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include <google/protobuf/stubs/logging.h>

#include "proto/base/check.h"
#include "proto/log/log.h"
#include "proto/wire/frame.h"
#include "tests/coordinator/transports/socket/fake_socket_server.h"

namespace {

using scorecast::coordinator::FakeSocketServer;
using scorecast::coordinator::NumberedRequest;
using scorecast::coordinator::SocketOptions;
using scorecast::proto::Check;
namespace v1 = scorecast::v1;

constexpr std::int64_t kMaxRequestBytes = 4096;

std::unique_ptr<FakeSocketServer> MakeServer() {
  SocketOptions options;
  options.max_request_bytes = kMaxRequestBytes;
  return std::make_unique<FakeSocketServer>(options);
}

/// request_id → number of replies that the bytes must get.
std::map<std::uint64_t, int> ExpectedReplies(const std::string& bytes) {
  std::map<std::uint64_t, int> expected;
  std::size_t at = 0;
  while (bytes.size() - at >= scorecast::proto::kFrameHeaderBytes) {
    scorecast::proto::FrameHeader header{};
    bytes.copy(reinterpret_cast<char*>(header.data()), header.size(), at);
    at += header.size();
    const std::size_t length = scorecast::proto::FrameLength(header);
    const bool is_whole = length <= bytes.size() - at;
    if (length > kMaxRequestBytes) {
      ++expected[0];
    } else if (is_whole) {
      v1::Request request;
      ++expected[request.ParseFromString(bytes.substr(at, length)) ? request.request_id() : 0];
    }
    if (!is_whole) {
      break;
    }
    at += length;
  }
  return expected;
}

void CheckReply(const v1::Response& response) {
  if (response.has_score()) {
    Check(response.score().usage().prompt_tokens() > 0, "usage");
    return;
  }
  if (response.has_chunked()) {
    Check(response.chunked().usage().prompt_tokens() > 0, "usage");
    return;
  }
  if (response.has_authenticated()) {
    return;  // The server needs no keys.
  }
  Check(response.has_error(), "a response or an error");
  Check(response.error().code() >= 400 && !response.error().reason().empty() &&
            !response.error().message().empty(),
        "code, reason and message");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static FakeSocketServer* const server = [] {
    scorecast::proto::StartLog("off");
    google::protobuf::SetLogHandler(nullptr);
    return MakeServer().release();
  }();
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  std::map<std::uint64_t, int> expected = ExpectedReplies(bytes);
  const auto client = server->Connect();
  scorecast::coordinator::WriteBytes(*client, bytes);
  while (!expected.empty()) {
    const v1::Response response = client->Receive();
    if (response.has_chunked_delta()) {
      continue;  // The final response follows.
    }
    CheckReply(response);
    const auto entry = expected.find(response.request_id());
    Check(entry != expected.end(), "a reply to a request");
    if (--entry->second == 0) {
      expected.erase(entry);
    }
  }
  Check(server->Connect()->Call(NumberedRequest(1)).has_score(), "the next client is served");
  server->cluster().ForgetPlans();
  return 0;
}
