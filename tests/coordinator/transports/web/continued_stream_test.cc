// Streams that another server has begun, over the request socket of the one that goes on with them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/transports/connection/listening_socket.h"
#include "coordinator/transports/socket/frame_protocol.h"
#include "launcher/client/client.h"
#include "tests/coordinator/access/keys_file.h"
#include "tests/coordinator/endpoints/chat_server.h"
#include "tests/coordinator/transports/http/fake_http_server.h"

namespace scorecast::coordinator {
namespace continued_stream_test {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

constexpr char kFrontKey[] = "sk-front-0123456789";
using Parts = std::vector<v1::Response>;

/// Appends texts and lists, also those in objects. Of other values the last one stays.
void Append(const json& value, json& sum) {
  if (value.is_object()) {
    for (const auto& [name, member] : value.items()) {
      Append(member, sum[name]);
    }
  } else if (value.is_string()) {
    sum = (sum.is_string() ? sum.get<std::string>() : "") + value.get<std::string>();
  } else if (value.is_array()) {
    for (const json& element : value) {
      sum.push_back(element);
    }
  } else if (!value.is_null()) {
    sum = value;
  }
}

/// What the client of a stream has of it in the end, whatever its deltas were.
struct Received {
  std::map<std::int64_t, json> choices;
  std::vector<json> others;   ///< Events without a choice.
  std::set<std::string> ids;  ///< Of all events, with `created`.
  std::string end;            ///< The last event.
};

void Add(json event, Received& received) {
  if (event.contains("id")) {
    received.ids.insert(event["id"].get<std::string>() + event["created"].dump());
  }
  if (event.contains("choices") && !event["choices"].empty()) {
    json choice = event["choices"][0];
    const auto index = choice["index"].get<std::int64_t>();
    choice.erase("index");
    Append(choice, received.choices[index]);
  } else if (event.value("object", "") == "chunked.delta") {
    const auto index = event["question"].get<std::int64_t>();
    event.erase("object");
    event.erase("question");
    Append(event, received.choices[index]);
  } else {
    received.others.push_back(Stable(event));
    if (received.others.back().contains("usage")) {
      received.others.back()["usage"].erase("prompt_tokens_details");
    }
  }
}

/// Of an HTTP reply.
Received ReceivedOf(const Parts& parts) {
  Received received;
  std::string body;
  for (const v1::Response& part : parts) {
    body += part.http().body();
  }
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) {
      continue;
    }
    EXPECT_THAT(line, StartsWith("data: "));
    received.end = line.substr(6);
    if (received.end != "[DONE]") {
      Add(json::parse(received.end), received);
    }
  }
  return received;
}

void ExpectSame(const Received& own, const Received& wanted) {
  EXPECT_EQ(own.choices, wanted.choices);
  EXPECT_EQ(own.others, wanted.others);
  EXPECT_EQ(own.ids, wanted.ids);
  EXPECT_LE(own.ids.size(), 1U);
  EXPECT_EQ(own.end, "[DONE]");
}

/// How far each completion was sent by these parts.
void SetSent(const Parts& parts, v1::Request& request) {
  std::map<std::uint32_t, v1::StreamPosition> sent;
  for (const v1::Response& part : parts) {
    sent[part.position().output()] = part.position();
  }
  request.mutable_forwarded()->clear_sent();
  for (const auto& [output, position] : sent) {
    *request.mutable_forwarded()->add_sent() = position;
  }
}

class ContinuedStream : public ::testing::Test {
 protected:
  ContinuedStream() {
    v1::Request hello;
    hello.mutable_hello()->set_front_key(kFrontKey);
    hello.mutable_hello()->set_status_interval_ms(60'000);
    EXPECT_TRUE(front_->Call(hello).hello().trusted());
    EXPECT_TRUE(front_->Receive().has_status());
  }

  static SocketOptions OptionsWith(std::shared_ptr<ApiKeys> front_keys) {
    SocketOptions options;
    options.front_keys = std::move(front_keys);
    return options;
  }
  static v1::Request Passed(v1::Request request) {
    request.set_request_id(7);
    v1::Forwarded& forwarded = *request.mutable_forwarded();
    forwarded.set_client("192.0.2.7");
    forwarded.set_default_seed(77);
    forwarded.set_response_id(5);
    forwarded.set_created(1'700'000'000);
    return request;
  }
  static v1::Request PostOf(const std::string& path, const json& body) {
    v1::Request request;
    v1::HttpRequest& http = *request.mutable_http();
    http.set_method("POST");
    http.set_path(path);
    http.set_content_type("application/json");
    http.set_body(body.dump());
    return Passed(request);
  }
  static bool IsLast(const v1::Response& part) {
    return part.has_http() ? part.http().last()
                           : !part.has_chunked_delta() && !part.has_completions_delta();
  }
  Parts PartsOf(const v1::Request& request) const {
    front_->Send(request);
    Parts parts;
    do {
      parts.push_back(front_->Receive());
      EXPECT_EQ(parts.back().request_id(), 7U);
      EXPECT_EQ(parts.back().has_position(), !IsLast(parts.back()));
    } while (!IsLast(parts.back()));
    return parts;
  }
  /// Cuts the reply behind each of its parts but the last one, and calls `expect` with what is
  /// received if another server goes on there.
  template <typename Expect>
  void CutEverywhere(v1::Request request, const Expect& expect) const {
    const Parts whole = PartsOf(request);
    ASSERT_GE(whole.size(), 2U);
    const std::size_t step = std::max<std::size_t>(whole.size() / 12, 1);
    for (std::size_t cut = 1; cut < whole.size(); cut += step) {
      SCOPED_TRACE(std::to_string(cut) + " of " + std::to_string(whole.size()));
      Parts parts(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(cut));
      SetSent(parts, request);
      for (v1::Response& part : PartsOf(request)) {
        EXPECT_EQ(part.http().fields_size(), 0) << "the client has the header";
        parts.push_back(std::move(part));
      }
      expect(parts, whole);
    }
  }

  const KeysFile file_{std::string("front ") + kFrontKey + "\n"};
  FakeHttpServer server_{
      OptionsWith(file_.Read()), {}, {}, nullptr, WithChat(FakeServer::MultiItem())};
  const std::uint16_t port_ =
      server_.server().Listen(OpenListeningSocket("127.0.0.1", 0),
                              MakeFrameProtocol(server_.service().endpoints(), {}, {}, {}));
  const std::unique_ptr<launcher::Client> front_ =
      std::make_unique<launcher::Client>("127.0.0.1:" + std::to_string(port_));
};

TEST_F(ContinuedStream, EventsGoOnWhereTheyEnded) {
  const json usage = {{"include_usage", true}};
  const json messages = json::array({{{"role", "user"}, {"content", "a question"}}});
  const std::vector<std::pair<std::string, json>> requests = {
      {"/v1/completions",
       {{"prompt", "a prompt"}, {"max_tokens", 60}, {"n", 2}, {"return_token_ids", true}}},
      {"/v1/completions",
       {{"prompt", json::array({"one", "two"})},
        {"max_tokens", 40},
        {"echo", true},
        {"stop", json::array({"never", "nor this"})},
        {"stream_options", usage}}},
      {"/v1/completions",
       {{"prompt", "a prompt"},
        {"max_tokens", 30},
        {"logprobs", 3},
        {"frequency_penalty", 1.5},
        {"top_p", 0.9}}},
      {"/v1/chat/completions",
       {{"messages", messages},
        {"max_tokens", 50},
        {"n", 2},
        {"logprobs", true},
        {"top_logprobs", 2},
        {"stream_options", usage}}},
      {"/v1/chunked",
       {{"chunks", json::array({"a chunk", "another"})},
        {"questions", json::array({"one?", "two?"})},
        {"labels", json::array({" yes", " no"})},
        {"temperature", 1.5},
        {"max_new_tokens", 40}}}};
  for (auto [path, body] : requests) {
    SCOPED_TRACE(path + " " + body.dump());
    body["stream"] = true;
    body["ignore_eos"] = true;
    CutEverywhere(PostOf(path, body), [&](const Parts& parts, const Parts& whole) {
      ExpectSame(ReceivedOf(parts), ReceivedOf(whole));
    });
  }
}

TEST_F(ContinuedStream, MessagesGoOnWhereTheyEnded) {
  v1::Request request;
  v1::CompletionsRequest& completions = *request.mutable_completions();
  completions.add_prompt()->set_text("a prompt");
  completions.set_max_tokens(60);
  completions.set_n(3);
  completions.set_return_token_ids(true);
  completions.set_stream(true);
  v1::Request without_stream = Passed(request);
  without_stream.mutable_completions()->set_stream(false);
  const v1::CompletionsResponse wanted = front_->Call(without_stream).completions();
  ASSERT_EQ(wanted.choices_size(), 3);
  EXPECT_NE(wanted.choices(0).text(), wanted.choices(1).text());
  CutEverywhere(Passed(request), [&](const Parts& parts, const Parts& /*whole*/) {
    std::map<std::int64_t, v1::Completion> choices;
    for (const v1::Response& part : parts) {
      if (part.has_completions_delta()) {
        EXPECT_EQ(part.completions_delta().id(), wanted.id());
        const v1::Completion& delta = part.completions_delta().choices(0);
        v1::Completion& choice = choices[delta.index()];
        EXPECT_EQ(choice.finish_reason(), "");
        choice.set_index(delta.index());
        choice.mutable_text()->append(delta.text());
        choice.mutable_token_ids()->MergeFrom(delta.token_ids());
        choice.set_finish_reason(delta.finish_reason());
      }
    }
    ASSERT_THAT(choices, SizeIs(3));
    for (const auto& [index, choice] : choices) {
      EXPECT_EQ(choice.SerializeAsString(),
                wanted.choices(static_cast<int>(index)).SerializeAsString());
    }
    EXPECT_EQ(parts.back().completions().seed(), 77);
    EXPECT_EQ(parts.back().completions().usage().completion_tokens(), 180);
  });
}

TEST_F(ContinuedStream, EndsWithAnErrorIfItIsAnotherOne) {
  v1::Request request =
      PostOf("/v1/completions", {{"prompt", "a prompt"}, {"max_tokens", 9}, {"stream", true}});
  v1::StreamPosition& sent = *request.mutable_forwarded()->add_sent();
  sent.set_tokens(3);
  sent.set_digest(1);
  const Parts parts = PartsOf(request);
  ASSERT_THAT(parts, SizeIs(1)) << "no token of it is sent";
  const v1::HttpReply& reply = parts[0].http();
  EXPECT_EQ(reply.status(), 502U);
  EXPECT_THAT(reply.body(), StartsWith("data: {\"error\":"));
  EXPECT_THAT(reply.body(), HasSubstr("those that were sent"));
  EXPECT_THAT(reply.body(), HasSubstr("\n\ndata: [DONE]\n\n"));
}

TEST_F(ContinuedStream, ErrorsBeforeItGoesOnAreEvents) {
  const json good = {{"prompt", "a prompt"}, {"max_tokens", 9}, {"stream", true}};
  json bad = good;
  bad["temperature"] = -1;
  const auto expect_event = [&](v1::Request request, std::uint32_t status) {
    request.mutable_forwarded()->add_sent()->set_tokens(3);
    const Parts parts = PartsOf(request);
    ASSERT_THAT(parts, SizeIs(1));
    EXPECT_EQ(parts[0].http().status(), status);
    EXPECT_EQ(parts[0].http().fields_size(), 0);
    EXPECT_THAT(parts[0].http().body(), StartsWith("data: {"));
    EXPECT_EQ(ReceivedOf(parts).end, "[DONE]");
  };
  expect_event(PostOf("/v1/completions", bad), 400);
  expect_event(PostOf("/v1/nothing", good), 404);
  v1::Request late = PostOf("/v1/completions", good);
  late.mutable_forwarded()->set_timeout_us(0);
  expect_event(late, 504);
  server_.service().StartDraining();
  expect_event(PostOf("/v1/completions", good), 503);
}

}  // namespace continued_stream_test
}  // namespace scorecast::coordinator
