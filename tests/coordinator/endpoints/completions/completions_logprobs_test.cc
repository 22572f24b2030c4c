// Log-probabilities of /v1/completions, computed by FakeCluster's model. The expected values are
// those of single rows.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/completions/completions_endpoint.h"
#include "coordinator/prompts/sequence_layout.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {
namespace completions_logprobs_test {

using nlohmann::json;
using proto::Expected;
using ::testing::SizeIs;
using Ids = std::vector<TokenId>;

Expected<v1::CompletionsResponse> Ask(FakeServer& server, json request,
                                      const OnDelta& on_delta = {}) {
  request["return_token_ids"] = true;
  auto response = coordinator::Ask<v1::CompletionsResponse>(server.service, CompletionsEndpoint(),
                                                            request, Clock::now(), on_delta);
  server.scheduler.WaitIdle();
  return response;
}

v1::Completion FirstChoice(FakeServer& server, const json& request) {
  const v1::CompletionsResponse response = ValueOrFail(Ask(server, request));
  return response.choices_size() > 0 ? response.choices(0) : v1::Completion();
}

/// What the row before token `index` of a text returns for it and the best tokens.
proto::RowLogits RowBefore(const Ids& ids, std::size_t index, std::int32_t best) {
  const proto::RowRead read{.row = static_cast<std::int32_t>(index) - 1,
                            .normalizer = true,
                            .top_k = best,
                            .target = ids[index]};
  return ExpectedRow(PackChunks(ids, {}, {}, ChunkPositionStrategy::kShared), read,
                     FakeServer::kVocabSize);
}

double LogProbability(const proto::RowLogits& row, float logit) {
  return double{logit} - double{row.max} - std::log(row.sum_exp);
}

/// Compares the entries of `logprobs` with those of the tokens of a text from `first` on. Those
/// before `scored` have none.
void ExpectLogprobs(const v1::CompletionLogprobs& logprobs, const Ids& ids, std::size_t first,
                    std::int32_t best, std::size_t scored = 1) {
  ASSERT_EQ(logprobs.tokens_size(), static_cast<int>(ids.size() - first));
  ASSERT_EQ(logprobs.token_logprobs_size(), logprobs.tokens_size());
  ASSERT_EQ(logprobs.top_logprobs_size(), logprobs.tokens_size());
  ASSERT_EQ(logprobs.text_offset_size(), logprobs.tokens_size());
  for (std::size_t i = first; i < ids.size(); ++i) {
    SCOPED_TRACE(i);
    const auto at = static_cast<int>(i - first);
    if (i < scored) {
      EXPECT_FALSE(logprobs.token_logprobs(at).has_value());
      EXPECT_EQ(logprobs.top_logprobs(at).tokens_size(), 0);
      continue;
    }
    const proto::RowLogits row = RowBefore(ids, i, best);
    EXPECT_EQ(logprobs.token_logprobs(at).value(), LogProbability(row, row.target_logit));
    std::vector<double> values;
    bool has_own = false;
    for (const auto& [id, logit] : row.top) {
      values.push_back(LogProbability(row, logit));
      has_own = has_own || id == ids[i];
    }
    if (!has_own) {
      values.push_back(LogProbability(row, row.target_logit));
    }
    const v1::SpelledLogprobs& top = logprobs.top_logprobs(at);
    EXPECT_EQ(std::vector(top.logprobs().begin(), top.logprobs().end()), values);
    const auto own = std::ranges::find(top.tokens(), logprobs.tokens(at));
    ASSERT_NE(own, top.tokens().end());
    EXPECT_EQ(top.logprobs(static_cast<int>(own - top.tokens().begin())),
              logprobs.token_logprobs(at).value())
        << "the same bits";
  }
}

Ids Together(const Ids& prompt, const v1::Completion& choice) {
  Ids all = prompt;
  all.insert(all.end(), choice.token_ids().begin(), choice.token_ids().end());
  return all;
}

TEST(CompletionsLogprobs, OfGeneratedTokensAreThoseOfTheModel) {
  FakeServer server;
  const Ids ids = {11, 12, 13};
  for (const double temperature : {0.0, 1.0, 0.6}) {
    for (const std::int32_t best : {0, 3, 20}) {
      json request = {{"prompt", ids},
                      {"max_tokens", 6},
                      {"temperature", temperature},
                      {"seed", 4},
                      {"ignore_eos", true}};
      const v1::Completion without = FirstChoice(server, request);
      EXPECT_FALSE(without.has_logprobs());
      request["logprobs"] = best;
      const v1::Completion choice = FirstChoice(server, request);
      EXPECT_EQ(choice.text(), without.text());
      ExpectLogprobs(choice.logprobs(), Together(ids, choice), ids.size(), best);
    }
  }
}

// The reads that choose these tokens leave the adjusted ones out, or have these alone.
TEST(CompletionsLogprobs, DoNotDependOnAdjustments) {
  FakeServer server;
  const Ids ids = {11, 12, 13};
  const json greedy = {{"prompt", ids}, {"max_tokens", 6}, {"temperature", 0}, {"logprobs", 3}};
  const Ids plain = Together(ids, FirstChoice(server, greedy));
  for (const json& more :
       {json{{"repetition_penalty", 1.5}, {"logit_bias", {{std::to_string(plain[4]), -50}}}},
        json{{"logit_bias", {{std::to_string(plain[3]), -50}}}},
        json{{"allowed_token_ids", {21, 22, 23, 24}}, {"frequency_penalty", 1}},
        json{{"temperature", 1}, {"seed", 5}, {"min_p", 0.01}, {"presence_penalty", 1}},
        json{{"temperature", 0.7}, {"seed", 6}, {"logit_bias", {{"21", 9}}}, {"top_p", 0.9}}}) {
    SCOPED_TRACE(more.dump());
    json request = greedy;
    request.update(more);
    const v1::Completion choice = FirstChoice(server, request);
    const Ids all = Together(ids, choice);
    EXPECT_NE(all, plain) << "the adjustments count";
    ExpectLogprobs(choice.logprobs(), all, ids.size(), 3);
  }
}

TEST(CompletionsLogprobs, OfOneGreedyTokenTakeOnePass) {
  FakeServer server;
  server.cluster.ForgetPlans();
  FirstChoice(server,
              {{"prompt", "yes?"}, {"max_tokens", 1}, {"temperature", 0}, {"logprobs", 20}});
  EXPECT_THAT(server.cluster.plans(), SizeIs(1));
}

// A pass has 64 rows, so that the prompt takes several, and its second and third time find it in
// the cache.
TEST(CompletionsLogprobs, OfAnEchoedPromptComeFirst) {
  FakeServer server(ServerOptions{}, {.cached_pages = 60});
  Ids ids;
  for (TokenId i = 0; i < 150; ++i) {
    ids.push_back(30 + i * 7 % 90);
  }
  for (const int max_tokens : {1, 5, 0}) {
    const json request = {{"prompt", ids},     {"max_tokens", max_tokens},
                          {"temperature", 0},  {"echo", true},
                          {"logprobs", 2},     {"n", 2},
                          {"ignore_eos", true}};
    const v1::CompletionsResponse response = ValueOrFail(Ask(server, request));
    ASSERT_EQ(response.choices_size(), 2);
    for (const v1::Completion& choice : response.choices()) {
      const Ids all = Together(ids, choice);
      EXPECT_EQ(all.size(), ids.size() + static_cast<std::size_t>(max_tokens));
      ExpectLogprobs(choice.logprobs(), all, 0, 2);
      EXPECT_EQ(choice.logprobs().text_offset(7), 7) << "each token is a character";
      EXPECT_EQ(choice.finish_reason(), "length");
    }
    EXPECT_EQ(response.usage().completion_tokens(), 2 * max_tokens);
    EXPECT_EQ(response.usage().prompt_tokens(), 150);
    EXPECT_EQ(response.usage().cached_tokens(), 0) << "rows that are read are computed";
  }
}

TEST(CompletionsLogprobs, OfAPromptsEndLeaveItsBeginningInTheCache) {
  FakeServer server(ServerOptions{}, {.cached_pages = 60});
  Ids ids;
  for (TokenId i = 0; i < 150; ++i) {
    ids.push_back(30 + i * 11 % 90);
  }
  json request = {{"prompt", ids}, {"max_tokens", 1}, {"temperature", 0}, {"ignore_eos", true}};
  FirstChoice(server, request);
  request.update({{"echo", true}, {"logprobs", 1}, {"prompt_logprob_start", 100}});
  const v1::CompletionsResponse response = ValueOrFail(Ask(server, request));
  const v1::Completion& choice = response.choices(0);
  ExpectLogprobs(choice.logprobs(), Together(ids, choice), 0, 1, 101);
  EXPECT_EQ(response.usage().cached_tokens(), 64) << "the pages before the first row that is read";
  request.update({{"echo", false}, {"prompt_logprobs", 0}, {"max_tokens", 0}});
  const v1::Completion prompt = FirstChoice(server, request);
  ASSERT_EQ(prompt.prompt_logprobs_size(), 150);
  EXPECT_EQ(prompt.prompt_logprobs(100).ids_size(), 0);
  EXPECT_EQ(prompt.prompt_logprobs(101).tokens(0).logprob(),
            choice.logprobs().token_logprobs(101).value());
}

TEST(CompletionsLogprobs, OfAPromptAreByIdAndRank) {
  FakeServer server;
  const json request = {
      {"prompt", "once upon"}, {"max_tokens", 1}, {"temperature", 0}, {"prompt_logprobs", 2}};
  const v1::Completion choice = FirstChoice(server, request);
  EXPECT_FALSE(choice.has_logprobs());
  Ids ids = {259};
  for (const char c : std::string("once upon")) {
    ids.push_back(c);
  }
  ASSERT_EQ(choice.prompt_logprobs_size(), static_cast<int>(ids.size()));
  EXPECT_EQ(choice.prompt_logprobs(0).ids_size(), 0);
  for (std::size_t i = 1; i < ids.size(); ++i) {
    const proto::RowLogits row = RowBefore(ids, i, 2);
    const v1::RankedTokens& entries = choice.prompt_logprobs(static_cast<int>(i));
    ASSERT_EQ(entries.ids_size(), entries.tokens_size());
    for (int k = 0; k < 2; ++k) {
      EXPECT_EQ(entries.ids(k), std::to_string(row.top[static_cast<std::size_t>(k)].first));
      EXPECT_EQ(entries.tokens(k).rank(), k + 1);
      EXPECT_EQ(entries.tokens(k).logprob(),
                LogProbability(row, row.top[static_cast<std::size_t>(k)].second));
    }
    const auto own = std::ranges::find(entries.ids(), std::to_string(ids[i]));
    ASSERT_NE(own, entries.ids().end());
    const v1::RankedToken& token = entries.tokens(static_cast<int>(own - entries.ids().begin()));
    EXPECT_EQ(token.logprob(), LogProbability(row, row.target_logit));
    EXPECT_EQ(token.decoded_token(), std::string(1, static_cast<char>(ids[i])));
  }
}

TEST(CompletionsLogprobs, OfNamedTokensAreInThePlacesOfGeneratedOnes) {
  FakeServer server;
  const Ids ids = {11, 12, 13};
  const Ids named = {200, 21, 22};
  server.cluster.ForgetPlans();
  const v1::Completion choice = FirstChoice(server, {{"prompt", ids},
                                                     {"max_tokens", 3},
                                                     {"temperature", 0},
                                                     {"ignore_eos", true},
                                                     {"logprobs", 1},
                                                     {"logprob_token_ids", named},
                                                     {"return_tokens_as_token_ids", true}});
  EXPECT_THAT(server.cluster.plans(), SizeIs(3));
  const Ids all = Together(ids, choice);
  for (std::size_t i = ids.size(); i < all.size(); ++i) {
    const v1::SpelledLogprobs& top =
        choice.logprobs().top_logprobs(static_cast<int>(i - ids.size()));
    Ids expected = named;
    if (std::ranges::find(named, all[i]) == named.end()) {
      expected.push_back(all[i]);
    }
    ASSERT_EQ(top.tokens_size(), static_cast<int>(expected.size()));
    for (std::size_t k = 0; k < expected.size(); ++k) {
      Ids text = all;
      text[i] = expected[k];
      const proto::RowLogits row = RowBefore(text, i, 0);
      EXPECT_EQ(top.tokens(static_cast<int>(k)), "token_id:" + std::to_string(expected[k]));
      EXPECT_EQ(top.logprobs(static_cast<int>(k)), LogProbability(row, row.target_logit));
    }
  }
}

TEST(CompletionsLogprobs, OfNamedTokensAreReadAtTheRowsOfAPrompt) {
  FakeServer server;
  const Ids ids = {31, 32, 33, 34, 35};
  const Ids named = {90, 34};
  const v1::Completion choice = FirstChoice(server, {{"prompt", ids},
                                                     {"max_tokens", 0},
                                                     {"prompt_logprob_start", 1},
                                                     {"prompt_logprob_token_ids", named}});
  EXPECT_FALSE(choice.has_logprobs());
  EXPECT_EQ(choice.prompt_logprobs_size(), 0);
  ASSERT_EQ(choice.prompt_token_id_logprobs_size(), 3) << "those of the rows 1 to 3";
  for (std::size_t i = 0; i < 3; ++i) {
    const v1::Numbers& row = choice.prompt_token_id_logprobs(static_cast<int>(i));
    ASSERT_EQ(row.values_size(), 2);
    for (int k = 0; k < 2; ++k) {
      Ids text = ids;
      text[i + 2] = named[static_cast<std::size_t>(k)];
      const proto::RowLogits expected = RowBefore(text, i + 2, 0);
      EXPECT_EQ(row.values(k), LogProbability(expected, expected.target_logit));
    }
  }
}

// Only where a response has ranks are they counted.
TEST(CompletionsLogprobs, RanksOfAPromptAreAmongAllTokens) {
  FakeServer server;
  const Ids ids = {31, 32, 33, 34, 35};
  std::size_t beyond = 0;
  for (const std::int32_t best : {0, 1, 20}) {
    const v1::Completion choice = FirstChoice(server, {{"prompt", ids},
                                                       {"max_tokens", 0},
                                                       {"echo", true},
                                                       {"logprobs", 3},
                                                       {"prompt_logprobs", best}});
    ASSERT_EQ(choice.prompt_logprobs_size(), 5);
    for (std::size_t i = 1; i < ids.size(); ++i) {
      const v1::RankedTokens& place = choice.prompt_logprobs(static_cast<int>(i));
      const proto::RowLogits row = RowBefore(ids, i, FakeServer::kVocabSize);
      ASSERT_GE(place.tokens_size(), std::max(best, 1));
      for (int k = 0; k < place.tokens_size(); ++k) {
        const auto rank = static_cast<std::size_t>(place.tokens(k).rank());
        ASSERT_TRUE(1 <= rank && rank <= row.top.size());
        EXPECT_EQ(place.ids(k), std::to_string(row.top[rank - 1].first)) << "no ties";
        EXPECT_TRUE(k == best || std::cmp_equal(rank, k + 1));
        beyond += k == best ? 1 : 0;
      }
    }
  }
  EXPECT_GE(beyond, 4U);
}

TEST(CompletionsLogprobs, RanksAreReadOnlyForResponsesThatHaveThem) {
  const CheckingServer server;
  for (const auto& [fields, ranks] : {std::pair(R"("prompt_logprobs":0)", true),
                                      std::pair(R"("echo":true,"logprobs":2)", false)}) {
    const PreparedRequest prepared = ValueOrFail(PrepareBody(
        CompletionsEndpoint(), std::string(R"({"prompt":[98,97],"max_tokens":1,)") + fields + "}",
        server.context()));
    ASSERT_THAT(prepared.sequences.front().reads, SizeIs(1));
    EXPECT_EQ(prepared.sequences.front().reads[0].ranks_target, ranks);
  }
}

TEST(CompletionsLogprobs, OfAStreamAreInItsDeltas) {
  FakeServer server;
  json request = {{"prompt", "once upon"}, {"max_tokens", 6}, {"temperature", 0}, {"logprobs", 1}};
  const v1::Completion whole = FirstChoice(server, request);
  request["stream"] = true;
  std::vector<double> streamed;
  ASSERT_TRUE(Ask(server, request, [&](std::size_t, const CompletionDelta& delta) {
    for (const ScoredToken& token : delta.scored) {
      streamed.push_back(token.logprob);
    }
  }));
  ASSERT_EQ(streamed.size(), static_cast<std::size_t>(whole.logprobs().tokens_size()));
  for (std::size_t i = 0; i < streamed.size(); ++i) {
    EXPECT_EQ(streamed[i], whole.logprobs().token_logprobs(static_cast<int>(i)).value());
  }
}

TEST(CompletionsLogprobs, MaxTokens0OnlyComputesThePrompt) {
  FakeServer server;
  json request = {{"prompt", json::array({"once upon", "a time"})}, {"max_tokens", 0}};
  const v1::CompletionsResponse response = ValueOrFail(Ask(server, request));
  ASSERT_EQ(response.choices_size(), 2);
  EXPECT_EQ(response.choices(1).text(), "");
  EXPECT_EQ(response.choices(1).finish_reason(), "length");
  request["echo"] = true;
  EXPECT_EQ(ValueOrFail(Ask(server, request)).choices(1).text(), "a time");
  EXPECT_FALSE(response.has_seed());
}

TEST(CompletionsLogprobs, ARowThatIsNotFiniteIsAnError) {
  FakeServer server;
  server.cluster.BreakToken('u');
  const auto response =
      Ask(server, {{"prompt", "once upon"}, {"max_tokens", 0}, {"echo", true}, {"logprobs", 0}});
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, 500);
  EXPECT_EQ(response.error().param, "prompt");
}

TEST(CompletionsLogprobs, AreWrittenAsOpenAiAndVllmDo) {
  const CheckingServer server;
  PreparedRequest prepared = ValueOrFail(
      PrepareBody(CompletionsEndpoint(),
                  R"({"prompt":[98,97],"max_tokens":1,"temperature":0,"echo":true,"logprobs":1,)"
                  R"("prompt_logprobs":0})",
                  server.context()));
  ASSERT_THAT(prepared.sequences.front().reads, SizeIs(1));
  proto::RowLogits row;
  row.sum_exp = 1;
  row.top = {{65, 0.0F}};
  prepared.generations.front().chooser->Take(row);
  row.target_logit = -2;
  row.target_rank = 57;
  row.top = {{66, 0.0F}};
  const auto response = ValueOrFail(prepared.readout->Respond({{row}}));
  EXPECT_EQ(JsonOf(*response).at("choices").dump(),
            R"([{"index":0,"text":"baA","logprobs":{"tokens":["b","a","A"],)"
            R"("token_logprobs":[null,-2.0,0.0],)"
            R"("top_logprobs":[null,{"B":0.0,"a":-2.0},{"A":0.0}],"text_offset":[0,1,2]},)"
            R"("finish_reason":"length",)"
            R"("prompt_logprobs":[null,{"97":{"logprob":-2.0,"rank":57,"decoded_token":"a"}}]}])");
}

TEST(CompletionsLogprobs, AreSpelledAsIdsOnRequest) {
  FakeServer server;
  const v1::Completion choice = FirstChoice(server, {{"prompt", "once"},
                                                     {"max_tokens", 1},
                                                     {"echo", true},
                                                     {"logprobs", 1},
                                                     {"return_tokens_as_token_ids", true}});
  EXPECT_EQ(choice.logprobs().tokens(0), "token_id:259");
  EXPECT_EQ(choice.logprobs().tokens(1), "token_id:111");
  EXPECT_TRUE(choice.text().starts_with("once"));
}

struct Server : CheckingServer {
  auto Prepare(const std::string& body) const {
    return PrepareBody(CompletionsEndpoint(), body, context());
  }
};

class CompletionsLogprobsValidation : public ValidationTest<Server> {};

TEST_F(CompletionsLogprobsValidation, WhatCannotBeReturnedIsRefused) {
  const std::string many = json(Ids(129, 1)).dump();
  const std::array<std::array<std::string, 3>, 18> cases = {{
      {R"("logprob_token_ids":[1])", "logprob_token_ids_without_logprobs", "logprob_token_ids"},
      {R"("logprobs":1,"logprob_token_ids":[1,1])", "duplicate_token_id", "logprob_token_ids"},
      {R"("logprobs":1,"logprob_token_ids":)" + many, "too_many_logprob_token_ids",
       "logprob_token_ids"},
      {R"("logprobs":1,"logprob_token_ids":[1],"max_tokens":0)", "not_supported",
       "logprob_token_ids"},
      {R"("prompt_logprob_token_ids":)" + many, "too_many_prompt_logprob_token_ids",
       "prompt_logprob_token_ids"},
      {R"("prompt_logprob_token_ids":[1,99999])", "token_out_of_vocabulary",
       "prompt_logprob_token_ids"},
      {R"("prompt_logprob_token_ids":[1],"stream":true)", "not_supported",
       "prompt_logprob_token_ids"},
      {R"("logprobs":21)", "logprobs_out_of_range", "logprobs"},
      {R"("logprobs":-1)", "logprobs_out_of_range", "logprobs"},
      {R"("logprobs":true)", "wrong_type", "logprobs"},
      {R"("prompt_logprobs":21)", "prompt_logprobs_out_of_range", "prompt_logprobs"},
      {R"("prompt_logprobs":-1)", "prompt_logprobs_out_of_range", "prompt_logprobs"},
      {R"("prompt_logprobs":1,"stream":true)", "not_supported", "prompt_logprobs"},
      {R"("logprobs":1,"echo":true,"stream":true)", "not_supported", "logprobs"},
      {R"("max_tokens":0,"stream":true)", "not_supported", "stream"},
      {R"("prompt_logprobs":1,"prompt_logprob_start":-1)", "prompt_logprob_start_out_of_range",
       "prompt_logprob_start"},
      {R"("logprobs":1,"prompt_logprob_start":1)", "prompt_logprob_start_without_logprobs",
       "prompt_logprob_start"},
      {R"("echo":true,"prompt_logprob_start":1)", "prompt_logprob_start_without_logprobs",
       "prompt_logprob_start"},
  }};
  for (const auto& [fields, reason, param] : cases) {
    ExpectRefused({}, R"({"prompt":"p",)" + fields + "}", reason, param);
  }
  Server split;
  split.options_.chunks.enable_chunk_aware = true;
  ExpectRefused(split, R"({"prompt":"s # # a # # q","prompt_logprobs":1})", "not_supported",
                "prompt_logprobs");
  ExpectRefused(split, R"({"prompt":"s # # a # # q","prompt_logprob_token_ids":[1]})",
                "not_supported", "prompt_logprob_token_ids");
  ExpectAccepted({}, R"({"prompt":"p","logprob_token_ids":[],"prompt_logprob_token_ids":[]})");
  ExpectAccepted({}, R"({"prompt":"p","logprobs":null,"prompt_logprobs":null,"max_tokens":0})");
}

}  // namespace completions_logprobs_test
}  // namespace scorecast::coordinator
