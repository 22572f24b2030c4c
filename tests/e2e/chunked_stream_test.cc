// Completions through the request socket: streamed in deltas, cancelled when their client
// disconnects, and computed beside scoring requests.

#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/eventually.h"
#include "tests/e2e/models.h"
#include "tests/e2e/service.h"
#include "tests/e2e/socket_transport.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace chunked_stream_test {

using launcher::Client;
using nlohmann::json;

/// One completion, put together from its deltas.
struct Streamed {
  std::string text;
  std::vector<TokenId> token_ids;
  std::string finish_reason;
  int deltas = 0;
};

struct StreamedRequest {
  std::map<std::uint32_t, Streamed> completions;  ///< By the question's index.
  v1::Response last;
};

/// Reads until `requests` requests have their last message.
std::map<std::uint64_t, StreamedRequest> ReadAll(Client& client, std::size_t requests) {
  std::map<std::uint64_t, StreamedRequest> all;
  for (std::size_t done = 0; done < requests;) {
    v1::Response response = client.Receive();
    StreamedRequest& request = all[response.request_id()];
    EXPECT_EQ(request.last.request_id(), 0U) << "nothing follows the last message";
    if (!response.has_chunked_delta()) {
      request.last = std::move(response);
      ++done;
      continue;
    }
    const v1::ChunkedDelta& delta = response.chunked_delta();
    Streamed& completion = request.completions[delta.question()];
    EXPECT_EQ(completion.finish_reason, "") << "nothing follows a finish_reason";
    completion.text += delta.text();
    completion.token_ids.insert(completion.token_ids.end(), delta.token_ids().begin(),
                                delta.token_ids().end());
    completion.finish_reason = delta.finish_reason();
    ++completion.deltas;
  }
  return all;
}

void ExpectSame(const Streamed& streamed, const v1::ChunkedOutput& output) {
  EXPECT_EQ(streamed.text, output.text());
  EXPECT_EQ(streamed.token_ids,
            std::vector<TokenId>(output.token_ids().begin(), output.token_ids().end()));
  EXPECT_EQ(streamed.finish_reason, output.finish_reason());
}

json Documents(const json& more) {
  json body = {{"system_prompt", "Read the documents."},
               {"chunks",
                {"Anna lives in Oslo. Anna works as a baker.", "The red key is in the kitchen.",
                 "The blue key is in the tower."}}};
  body.update(more);
  return body;
}

TEST(Stream, DeltasAddUpToTheCompletion) {
  const std::vector<std::string> questions = {"Where is the red key?", "Where is the blue key?"};
  const std::vector<json> bodies = {
      Documents({{"questions", questions}, {"max_new_tokens", 10}}),
      Documents({{"questions", questions},
                 {"max_new_tokens", 30},
                 {"temperature", 2.0},
                 {"seed", 11},
                 {"ignore_eos", true},
                 {"labels", {" kitchen", " tower"}}}),
      Documents({{"question", questions[0]}, {"max_new_tokens", 10}, {"stop", {"."}}})};
  for (const int ranks : {0, 2}) {
    SCOPED_TRACE(ranks);
    Service service({DemoModelDirectory(), {}, ranks, ""});
    const auto client = service.Connect();
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      json body = bodies[i];
      body["stream"] = true;
      client->Send(ToChunkedRequest(i + 1, body));
    }
    const auto streamed = ReadAll(*client, bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      SCOPED_TRACE(i);
      const StreamedRequest& request = streamed.at(i + 1);
      ASSERT_TRUE(request.last.has_chunked()) << request.last.error().message();
      const v1::ChunkedResponse& response = request.last.chunked();
      ASSERT_EQ(request.completions.size(), static_cast<std::size_t>(response.outputs_size()));
      int tokens = 0;
      for (int q = 0; q < response.outputs_size(); ++q) {
        ExpectSame(request.completions.at(static_cast<std::uint32_t>(q)), response.outputs(q));
        tokens += response.outputs(q).token_ids_size();
      }
      EXPECT_EQ(response.usage().completion_tokens(), tokens);
      // Without deltas the response is the same.
      const v1::Response whole = client->Call(ToChunkedRequest(100, bodies[i]));
      ASSERT_TRUE(whole.has_chunked()) << "there are no deltas without `stream`";
      ASSERT_EQ(whole.chunked().outputs_size(), response.outputs_size());
      for (int q = 0; q < response.outputs_size(); ++q) {
        EXPECT_EQ(whole.chunked().outputs(q).SerializeAsString(),
                  response.outputs(q).SerializeAsString());
      }
      ASSERT_EQ(whole.chunked().scores_size(), response.scores_size());
      for (int q = 0; q < response.scores_size(); ++q) {
        EXPECT_EQ(whole.chunked().scores(q).SerializeAsString(),
                  response.scores(q).SerializeAsString());
      }
    }
    EXPECT_EQ(streamed.at(1).last.chunked().outputs(0).text(), " kitchen.");
    EXPECT_EQ(streamed.at(1).last.chunked().outputs(1).text(), " tower.");
    EXPECT_EQ(streamed.at(3).last.chunked().outputs(0).text(), " kitchen");
    // A completion comes in more than one delta. The service merges deltas that its client has not
    // read yet, so one try may see a single delta.
    EXPECT_TRUE(Eventually([&] {
      json body = bodies[1];
      body["stream"] = true;
      client->Send(ToChunkedRequest(200, body));
      return ReadAll(*client, 1).at(200).completions.at(0).deltas > 1;
    }));
    EXPECT_EQ(service.Drain().exit_code, 0);
  }
}

/// A streamed request that uses all positions of the model: 46 of its prompt and 210 completion
/// tokens.
v1::Request LongCompletion(std::uint64_t id) {
  return ToChunkedRequest(id, {{"system_prompt", reference::RandomTokens(id, 20, kModelVocabSize)},
                               {"chunks", {reference::RandomTokens(id + 50, 16, kModelVocabSize)}},
                               {"question", reference::RandomTokens(id + 90, 10, kModelVocabSize)},
                               {"max_new_tokens", 210},
                               {"ignore_eos", true},
                               {"temperature", 1.0},
                               {"seed", id},
                               {"stream", true}});
}

TEST(Stream, AClientThatDisconnectsCancelsItsRequests) {
  // There is room for few completions at a time, so the completions of disconnected clients must
  // end before others can continue.
  Service service({MakeModel(""), {"--kv-cache-mb", "0"}, 2, ""});
  const auto stays = service.Connect();
  const v1::Response expected = [&] {
    stays->Send(LongCompletion(1));
    return ReadAll(*stays, 1).at(1).last;
  }();
  ASSERT_TRUE(expected.has_chunked()) << expected.error().message();
  for (int round = 0; round < 5; ++round) {
    const auto leaves = service.Connect();
    for (std::uint64_t id = 2; id < 8; ++id) {
      leaves->Send(LongCompletion(id));
    }
    EXPECT_TRUE(leaves->Receive().has_chunked_delta()) << "a completion has begun";
  }
  stays->Send(LongCompletion(1));
  const StreamedRequest again = ReadAll(*stays, 1).at(1);
  ASSERT_TRUE(again.last.has_chunked()) << again.last.error().message();
  EXPECT_EQ(again.last.chunked().outputs(0).SerializeAsString(),
            expected.chunked().outputs(0).SerializeAsString());
  ExpectSame(again.completions.at(0), again.last.chunked().outputs(0));
  // One more client disconnects while the service drains.
  auto leaves = service.Connect();
  leaves->Send(LongCompletion(3));
  EXPECT_TRUE(leaves->Receive().has_chunked_delta());
  leaves.reset();
  const ProcessResult result = service.Drain();
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_FALSE(result.timed_out);
}

TEST(Stream, FaultsAreErrorReplies) {
  Service service({MakeModel(""), {}, 0, ""});
  const auto client = service.Connect();
  const auto expect_error = [&](const v1::Request& request, const std::string& reason,
                                const std::string& param) {
    const v1::Response response = client->Call(request);
    ASSERT_TRUE(response.has_error());
    EXPECT_EQ(response.request_id(), request.request_id());
    EXPECT_EQ(response.error().code(), 400);
    EXPECT_EQ(response.error().reason(), reason);
    EXPECT_EQ(response.error().param(), param);
  };
  v1::Request too_long = LongCompletion(5);
  too_long.mutable_chunked()->set_max_new_tokens(250);
  expect_error(too_long, "too_many_positions", "max_new_tokens");
  v1::Request no_question = LongCompletion(6);
  no_question.mutable_chunked()->clear_question();
  expect_error(no_question, "missing_field", "question");
  v1::Request text = LongCompletion(7);
  text.mutable_chunked()->mutable_chunks(0)->set_text("text");
  expect_error(text, "text_and_ids_mixed", "chunks[0]");
  v1::Request late = LongCompletion(8);
  late.mutable_chunked()->set_timeout_ms(1);
  for (std::uint64_t id = 20; id < 24; ++id) {
    client->Send(LongCompletion(id));
  }
  client->Send(late);
  const auto all = ReadAll(*client, 5);
  // It is refused at once if it is predicted to be computed only after its deadline.
  EXPECT_EQ(all.at(8).last.error().code(),
            all.at(8).last.error().reason() == "deadline_too_close" ? 429 : 504)
      << all.at(8).last.ShortDebugString();
  for (std::uint64_t id = 20; id < 24; ++id) {
    EXPECT_TRUE(all.at(id).last.has_chunked());
  }
}

TEST(Stream, ScoringDoesNotWaitForLongCompletions) {
  const BatchCommand command = {MakeModel(""), {"--multi-item-scoring-delimiter", "7"}, 2, ""};
  constexpr std::uint64_t kCompletions = 3;
  constexpr std::uint64_t kScores = 12;
  std::vector<EndpointRequest> scoring;
  for (std::uint64_t i = 0; i < kScores; ++i) {
    const auto tokens = [&](std::size_t count) {
      return reference::RandomTokens(1000 * i + count, count, kModelVocabSize, 7);
    };
    scoring.push_back(ToScore(
        {{"query", tokens(9)}, {"items", {tokens(5), tokens(3)}}, {"label_token_ids", {5, 9}}}));
  }
  const BatchRun alone = RunRequests(command, scoring, Transport::kBatch);
  ASSERT_EQ(alone.exit_code, 0) << alone.err;

  Service service(command);
  const auto client = service.Connect();
  const auto send_completions = [&] {
    for (std::uint64_t id = 1; id <= kCompletions; ++id) {
      client->Send(LongCompletion(id));
    }
  };
  send_completions();
  const auto expected = ReadAll(*client, kCompletions);
  /// Returns the number of score replies that come before the first completion has ended. Checks
  /// every reply, whatever the order.
  const auto scores_before_completions = [&] {
    send_completions();
    EXPECT_TRUE(client->Receive().has_chunked_delta()) << "the first of several hundred passes";
    for (std::uint64_t i = 0; i < kScores; ++i) {
      client->Send(ToMessage(100 + i, scoring[i]));
    }
    std::uint64_t before = 0;
    std::uint64_t completions = 0;
    for (std::uint64_t scores = 0; scores < kScores || completions < kCompletions;) {
      const v1::Response response = client->Receive();
      if (response.has_score()) {
        const BatchRun line = {0, "", {ToBatchLine(response)}};
        EXPECT_EQ(line.Body(0).at("scores"), alone.Body(response.request_id() - 100).at("scores"));
        ++scores;
        before += completions == 0 ? 1 : 0;
      } else if (response.has_chunked()) {
        EXPECT_EQ(response.chunked().outputs(0).SerializeAsString(),
                  expected.at(response.request_id()).last.chunked().outputs(0).SerializeAsString());
        ++completions;
      } else if (!response.has_chunked_delta()) {
        throw std::runtime_error(response.error().message());
      }
    }
    return before;
  };
  // Several tries: if this process is not scheduled for a while, the completions end before it has
  // sent its score requests.
  EXPECT_TRUE(Eventually([&] { return scores_before_completions() == kScores; }));
  EXPECT_EQ(service.Drain().exit_code, 0);
}

}  // namespace chunked_stream_test
}  // namespace scorecast::testing
