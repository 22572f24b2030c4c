// Chunk-aware requests that the executable refuses, through both transports: code, reason and
// field.
// tests/coordinator/endpoints/chunked/chunked_validation_test.cc has every reason for a refusal.

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"

namespace scorecast::testing {
namespace chunked_refusals_test {

using nlohmann::json;
using Ids = std::vector<TokenId>;

json Body(const json& fields) {
  json body = {{"system_prompt", Ids(20, 3)},
               {"chunks", std::vector<Ids>(3, Ids(20, 4))},
               {"question", {5}},
               {"label_token_ids", {1, 2}}};
  for (const auto& [name, value] : fields.items()) {
    if (value.is_null()) {
      body.erase(name);
    } else {
      body[name] = value;
    }
  }
  return body;
}

struct Refusal {
  json fields;  ///< Added to a valid request, or replacing its fields; null removes a field.
  std::string reason;
  std::string param;
  std::string message;  ///< A part of it.
};

TEST(ChunkedRefusals, NameTheReasonAndTheField) {
  const std::vector<Refusal> refusals = {
      {{{"question", nullptr}}, "missing_field", "question", "must be provided"},
      {{{"question", Ids()}}, "empty_question", "question", ""},
      {{{"question", nullptr}, {"questions", {Ids{5}, Ids()}}},
       "empty_question",
       "questions[1]",
       ""},
      {{{"chunks", {Ids(5, 1), Ids(41, 2)}}}, "chunk_too_long", "chunks[1]", "41 > 40"},
      {{{"chunks", std::vector<Ids>(9, Ids(1, 2))}}, "too_many_chunks", "chunks", "9 > 8"},
      {{{"chunks", {Ids(5, 1), Ids{kModelVocabSize}}}},
       "token_out_of_vocabulary",
       "chunks[1]",
       "720"},
      {{{"chunk_groups", {2, 2}}}, "bad_chunk_groups", "chunk_groups[1]", ""},
      {{{"chunk_position_strategy", "packed"}},
       "unknown_position_strategy",
       "chunk_position_strategy",
       "packed"},
      {{{"chunk_temperature", 0}}, "chunk_temperature_out_of_range", "chunk_temperature", ""},
      {{{"prompt", "text"}}, "prompt_given_twice", "system_prompt", ""},
      {{{"question", "text"}}, "text_and_ids_mixed", "system_prompt", ""},
      {{{"system_prompt", nullptr}, {"chunks", nullptr}, {"question", "text"}},
       "no_tokenizer",
       "question",
       ""},
      {{{"label_token_ids", nullptr}}, "no_labels", "label_token_ids", ""},
      {{{"max_new_tokens", 5}, {"top_p", 0}}, "top_p_out_of_range", "top_p", ""},
      // Chunks share their positions: 20 + 20 + 216 = 256 is all that the model has.
      {{{"question", Ids(217, 5)}}, "too_many_positions", "question", "257 > 256"},
      {{{"question", Ids(216, 5)}, {"max_new_tokens", 2}},
       "too_many_positions",
       "max_new_tokens",
       "257 > 256"},
      {{{"question", Ids(177, 5)}, {"chunk_position_strategy", "offset"}},
       "too_many_positions",
       "question",
       "257 > 256"},
  };
  std::vector<EndpointRequest> requests;
  for (const Refusal& refusal : refusals) {
    requests.push_back(ToChunked(Body(refusal.fields)));
  }
  // Requests that just keep the limits.
  const std::vector<json> accepted = {
      Body(json::object()),
      Body({{"chunks", {Ids(), Ids(40, 2)}}}),
      Body({{"chunks", std::vector<Ids>(8, Ids(1, 2))}}),
      Body({{"question", Ids(216, 5)}, {"max_new_tokens", 1}}),
      Body({{"question", Ids(176, 5)}, {"chunk_position_strategy", "offset"}}),
  };
  for (const json& body : accepted) {
    requests.push_back(ToChunked(body));
  }
  const BatchRun run =
      RunRequests({MakeModel(""), {"--max-chunk-len", "40", "--max-items", "8"}, 0, ""}, requests);
  EXPECT_EQ(run.exit_code, 3) << run.err;
  ASSERT_EQ(run.lines.size(), requests.size());
  for (std::size_t i = 0; i < refusals.size(); ++i) {
    SCOPED_TRACE(requests[i].body.dump());
    const json body = run.Body(i);
    EXPECT_EQ(run.StatusCode(i), 400);
    EXPECT_EQ(body.at("object"), "error");
    EXPECT_EQ(body.at("code"), 400);
    EXPECT_EQ(body.value("reason", ""), refusals[i].reason) << body;
    EXPECT_EQ(body.value("param", ""), refusals[i].param) << body;
    EXPECT_THAT(body.at("message").get<std::string>(), ::testing::HasSubstr(refusals[i].message));
  }
  for (std::size_t i = refusals.size(); i < requests.size(); ++i) {
    EXPECT_EQ(run.StatusCode(i), 200) << run.lines[i];
  }
}

TEST(ChunkedRefusals, OfText) {
  const auto prompt = [](const std::string& text) {
    return ToChunked({{"prompt", text}, {"labels", {" yes"}}});
  };
  const BatchRun run = RunRequests(
      {DemoModelDirectory(), {"--enable-chunk-aware", "--max-chunk-len", "8"}, 0, ""},
      {prompt("Read. # # Anna lives in Oslo. # # "), prompt(" # #  # # "),
       prompt("Read. # # Anna lives in Oslo. # # Anna lives in Oslo and in Rome and in Paris and "
              "in London. # # Where?"),
       prompt("Read. # # Anna lives in Oslo. # # Where?"), prompt(" # #  # # Where?")});
  EXPECT_EQ(run.exit_code, 3) << run.err;
  EXPECT_EQ(run.Body(0).at("reason"), "empty_question");
  EXPECT_EQ(run.Body(1).at("reason"), "empty_question");
  EXPECT_EQ(run.Body(2).at("reason"), "chunk_too_long");
  EXPECT_EQ(run.Body(2).at("param"), "chunks[1]");
  EXPECT_EQ(run.StatusCode(3), 200);
  EXPECT_EQ(run.StatusCode(4), 200) << "an empty system prompt and an empty chunk";
}

// A batch file has one output line for each request.
TEST(ChunkedRefusals, StreamsAreForTheSocket) {
  const BatchRun run = RunRequests({MakeModel(""), {}, 0, ""},
                                   {ToChunked(Body({{"stream", true}, {"max_new_tokens", 2}})),
                                    ToChunked(Body({{"stream", false}, {"max_new_tokens", 2}}))},
                                   Transport::kBatch);
  EXPECT_EQ(run.exit_code, 3);
  EXPECT_EQ(run.Body(0).at("reason"), "stream_not_here");
  EXPECT_EQ(run.StatusCode(1), 200);
}

}  // namespace chunked_refusals_test
}  // namespace scorecast::testing
