// The sampling fields of /v1/completions and /v1/chunked, computed by FakeCluster's model and
// compared with their definitions.

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/endpoints/completions/completions_endpoint.h"
#include "coordinator/prompts/sequence_layout.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {
namespace sampling_fields_test {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using Ids = std::vector<TokenId>;

/// What a greedy completion knows when it chooses a token.
struct Step {
  const Ids& prompt;
  const Ids& generated;
  TokenId id;

  bool is_in_prompt() const { return std::ranges::find(prompt, id) != prompt.end(); }
  auto count() const { return std::ranges::count(generated, id); }
};
using Adjust = std::function<double(double logit, const Step& step)>;
constexpr double kForbidden = -std::numeric_limits<double>::infinity();

/// The tokens that are the best one after another, with logits that are adjusted.
Ids Greedy(proto::PackedSequence sequence, std::size_t n, const Adjust& adjust) {
  Ids all(FakeServer::kVocabSize);
  std::iota(all.begin(), all.end(), 0);
  sequence.label_lists = {all};
  const Ids prompt = sequence.tokens;
  Ids generated;
  while (generated.size() < n) {
    const auto row = static_cast<std::int32_t>(sequence.rows()) - 1;
    const proto::RowLogits logits = ExpectedRow(sequence, {row, 0}, FakeServer::kVocabSize);
    std::pair<double, TokenId> best = {kForbidden, 0};
    for (const TokenId id : all) {
      const double logit = logits.label_logits[static_cast<std::size_t>(id)];
      best = std::max(best, {adjust(logit, {prompt, generated, id}), -id});
    }
    generated.push_back(-best.second);
    sequence.tokens.push_back(-best.second);
    ++sequence.segments.back().length;
  }
  return generated;
}

template <typename Response>
proto::Expected<Response> Asked(FakeServer& server, const Endpoint& endpoint, const json& request) {
  auto response = Ask<Response>(server.service, endpoint, request);
  server.scheduler.WaitIdle();
  return response;
}

Ids Completed(FakeServer& server, json request) {
  request.update({{"return_token_ids", true}, {"temperature", 0}});
  const auto response = ValueOrFail(
      Asked<v1::CompletionsResponse>(server, CompletionsEndpoint(), std::move(request)));
  const auto& ids = response.choices(0).token_ids();
  return {ids.begin(), ids.end()};
}

double Repetition(double logit, double penalty) {
  return logit > 0 ? logit / penalty : logit * penalty;
}

TEST(SamplingFields, ChangeTheLogitsAsTheyAreDefined) {
  FakeServer server;
  const Ids prompt = {11, 12, 13, 250, 12};
  const proto::PackedSequence sequence = PackChunks(prompt, {}, {}, ChunkPositionStrategy::kShared);
  constexpr std::size_t kTokens = 12;
  const auto expect = [&](const json& fields, const Adjust& adjust) {
    json request = {{"prompt", prompt}, {"max_tokens", kTokens}};
    request.update(fields);
    EXPECT_EQ(Completed(server, request), Greedy(sequence, kTokens, adjust)) << fields;
  };
  expect({{"repetition_penalty", 1.5}}, [](double logit, const Step& step) {
    return step.is_in_prompt() || step.count() > 0 ? Repetition(logit, 1.5) : logit;
  });
  // A small penalty repeats tokens.
  expect({{"repetition_penalty", 0.3}}, [](double logit, const Step& step) {
    return step.is_in_prompt() || step.count() > 0 ? Repetition(logit, 0.3) : logit;
  });
  expect({{"presence_penalty", -2}, {"frequency_penalty", 0.25}},
         [](double logit, const Step& step) {
           return logit - 0.25 * static_cast<double>(step.count()) + (step.count() > 0 ? 2 : 0);
         });
  expect({{"logit_bias", {{"17", 3.5}, {"40", -100}, {"99", 14}, {"0017", 4}}}},
         [](double logit, const Step& step) {
           // A key of the same token that comes later counts.
           const std::map<TokenId, double> biases = {{17, 3.5}, {40, -100}, {99, 14}};
           const auto bias = biases.find(step.id);
           return logit + (bias == biases.end() ? 0 : bias->second);
         });
  const Ids plain = Greedy(sequence, kTokens, [](double logit, const Step&) { return logit; });
  const json request = {
      {"prompt", prompt}, {"max_tokens", 5}, {"min_tokens", 5}, {"stop_token_ids", {plain[2]}}};
  EXPECT_EQ(Completed(server, request), Greedy(sequence, 5, [&](double logit, const Step& step) {
              return step.id == plain[2] ? kForbidden : logit;
            }));
}

TEST(SamplingFields, RepetitionCountsChunksAndTheOwnQuestion) {
  FakeServer server;
  const json request = {{"system_prompt", {1, 2}},
                        {"chunks", {{3, 4}, {5, 60}}},
                        {"questions", {{7, 8}, {9, 100}}},
                        {"max_new_tokens", 8},
                        {"repetition_penalty", 0.2}};
  const auto response = ValueOrFail(Asked<v1::ChunkedResponse>(server, ChunkedEndpoint(), request));
  for (int i = 0; i < 2; ++i) {
    const Ids question = i == 0 ? Ids{7, 8} : Ids{9, 100};
    const auto& ids = response.outputs(i).token_ids();
    EXPECT_EQ(
        Ids(ids.begin(), ids.end()),
        Greedy(
            PackChunks({1, 2}, {{{3, 4}}, {{5, 60}}}, {question}, ChunkPositionStrategy::kShared),
            8, [](double logit, const Step& step) {
              return step.is_in_prompt() || step.count() > 0 ? Repetition(logit, 0.2) : logit;
            }));
  }
}

TEST(SamplingFields, ForbiddenTokensAreNotGenerated) {
  FakeServer server;
  json request = {
      {"prompt", {11, 12, 13}}, {"max_tokens", 30}, {"allowed_token_ids", {65, 98, 66}}};
  const auto texts = [&] {
    const auto response =
        ValueOrFail(Asked<v1::CompletionsResponse>(server, CompletionsEndpoint(), request));
    std::vector<std::string> made;
    for (const v1::Completion& choice : response.choices()) {
      made.push_back(choice.text());
    }
    return made;
  };
  for (const double temperature : {0.0, 1.0}) {
    request["temperature"] = temperature;
    EXPECT_THAT(texts(), ElementsAre(MatchesRegex("[AbB]{30}")));
  }
  // "Ab" is a word of two tokens, of which the second is forbidden behind the first.
  request.update({{"bad_words", {"Ab"}}, {"seed", 3}, {"n", 4}});
  EXPECT_THAT(texts(), Each(AllOf(Not(HasSubstr("Ab")), HasSubstr("b"))));
  // A word with and without a space; " yes" is one token of the vocabulary.
  request = {{"prompt", {11, 12, 13}},
             {"max_tokens", 60},
             {"seed", 1},
             {"allowed_token_ids", {32, 'y', 'e', 's', 257}}};
  EXPECT_THAT(texts(), ElementsAre(HasSubstr(" yes")));
  request["bad_words"] = {"  yes"};
  EXPECT_THAT(texts(), ElementsAre(Not(HasSubstr("yes"))));
}

TEST(SamplingFields, ACompletionDoesNotEndBeforeMinTokens) {
  FakeServer server;
  json request = {{"prompt", "once upon"},
                  {"max_tokens", 20},
                  {"allowed_token_ids", {65, 66}},
                  {"seed", 5},
                  {"stop", {"A"}},
                  {"return_token_ids", true}};
  const auto choice = [&] {
    return ValueOrFail(Asked<v1::CompletionsResponse>(server, CompletionsEndpoint(), request))
        .choices(0);
  };
  EXPECT_LT(choice().token_ids_size(), 9);
  request["min_tokens"] = 9;
  const v1::Completion longer = choice();
  EXPECT_GT(longer.token_ids_size(), 9);
  EXPECT_EQ(longer.text().size() + 1, static_cast<std::size_t>(longer.token_ids_size()));
  EXPECT_THAT(longer.text().substr(0, 9), HasSubstr("A")) << "a stop string too early";
  EXPECT_THAT(longer.text().substr(9), Not(HasSubstr("A")));
  request.erase("stop");
  request["stop_token_ids"] = {65};
  const v1::Completion by_token = choice();
  EXPECT_GT(by_token.token_ids_size(), 9);
  EXPECT_EQ(by_token.text().substr(0, 9), "BBBBBBBBB") << "a stop token is not chosen so early";
}

TEST(SamplingFields, TheTextMayHaveWhatEndedIt) {
  FakeServer server;
  json request = {{"prompt", "once upon"},
                  {"max_tokens", 40},
                  {"allowed_token_ids", {65, 66}},
                  {"seed", 5},
                  {"stop", {"AB"}}};
  const auto text = [&] {
    return ValueOrFail(Asked<v1::CompletionsResponse>(server, CompletionsEndpoint(), request))
        .choices(0)
        .text();
  };
  const std::string before = text();
  request["include_stop_str_in_output"] = true;
  EXPECT_EQ(text(), before + "AB");
  request.erase("stop");
  request["stop_token_ids"] = {65};
  const std::string with_token = text();
  request["include_stop_str_in_output"] = false;
  EXPECT_EQ(with_token, text() + "A");
}

// The choice depends on the prompt, the fields and the seed alone.
TEST(SamplingFields, CompanyChangesNothing) {
  FakeServer server;
  const json request = {{"prompt", "once upon a time"},
                        {"max_tokens", 20},
                        {"seed", 7},
                        {"temperature", 1.5},
                        {"repetition_penalty", 1.3},
                        {"presence_penalty", 0.5},
                        {"top_p", 0.9},
                        {"logit_bias", {{"40", 3}}}};
  const auto ask = [&](const json& own) {
    const auto response =
        ValueOrFail(Asked<v1::CompletionsResponse>(server, CompletionsEndpoint(), own));
    std::vector<std::string> texts;
    for (const auto& choice : response.choices()) {
      texts.push_back(choice.text());
    }
    return texts;
  };
  json several = request;
  several.update({{"n", 6}, {"seed", 2}});
  EXPECT_EQ(ask(several).back(), ask(request).front());
}

TEST(SamplingFields, APromptIsWithoutBosOrCut) {
  FakeServer server;
  const auto greedy = [&](const Ids& prompt) {
    return Greedy(PackChunks(prompt, {}, {}, ChunkPositionStrategy::kShared), 4,
                  [](double logit, const Step&) { return logit; });
  };
  const json request = {{"prompt", "abcdef"}, {"max_tokens", 4}};
  const auto with = [&](const json& fields) {
    json own = request;
    own.update(fields);
    return Completed(server, own);
  };
  EXPECT_EQ(with(json::object()), greedy({259, 'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_EQ(with({{"add_special_tokens", false}}), greedy({'a', 'b', 'c', 'd', 'e', 'f'}));
  EXPECT_EQ(with({{"truncate_prompt_tokens", 3}}), greedy({259, 'e', 'f'}));
  EXPECT_EQ(with({{"truncate_prompt_tokens", 7}}), with(json::object()));
  EXPECT_EQ(with({{"truncate_prompt_tokens", 3}, {"add_special_tokens", false}}),
            greedy({'d', 'e', 'f'}));
  EXPECT_EQ(with({{"truncate_prompt_tokens", 2}, {"prompt", {5, 6, 7}}}), greedy({6, 7}));
  json longest = request;
  longest.update({{"prompt", std::string(600, 'a')}, {"truncate_prompt_tokens", -1}});
  EXPECT_EQ(ValueOrFail(Asked<v1::CompletionsResponse>(server, CompletionsEndpoint(), longest))
                .usage()
                .prompt_tokens(),
            512 - 3)
      << "the model has 512 positions";
}

TEST(SamplingFields, TheModelsDefaultsAreThoseOfAbsentFields) {
  ServerOptions options;
  options.generation = {.temperature = 0.5,
                        .top_p = 0.6,
                        .top_k = 7,
                        .min_p = 0.1,
                        .repetition_penalty = 1.4,
                        .max_new_tokens = 5};
  FakeServer server(options);
  FakeServer plain{ServerOptions{}};
  const auto text = [](FakeServer& asked, json fields) {
    json request = {{"prompt", "once upon"}, {"seed", 4}};
    request.update(fields);
    return ValueOrFail(Asked<v1::CompletionsResponse>(asked, CompletionsEndpoint(), request))
        .choices(0)
        .text();
  };
  const json given = {{"temperature", 0.5}, {"top_p", 0.6},    {"top_k", 7},
                      {"min_p", 0.1},       {"max_tokens", 5}, {"repetition_penalty", 1.4}};
  EXPECT_EQ(text(server, json::object()), text(plain, given));
  const json others = {{"temperature", 1.5}, {"top_p", 1},      {"top_k", 0},
                       {"min_p", 0},         {"max_tokens", 9}, {"repetition_penalty", 1}};
  EXPECT_EQ(text(server, others), text(plain, others)) << "a request's own fields go first";
  const json chunked = {{"prompt", "once upon"}, {"max_new_tokens", 6}};
  EXPECT_EQ(
      ValueOrFail(Asked<v1::ChunkedResponse>(server, ChunkedEndpoint(), chunked)).outputs(0).text(),
      ValueOrFail(Asked<v1::ChunkedResponse>(plain, ChunkedEndpoint(), chunked)).outputs(0).text());
}

TEST(SamplingFields, AnUnsupportedDefaultIsRefusedUnlessItIsNotNeeded) {
  const auto ask = [](const proto::GenerationConfig::Unsupported& unsupported, const json& fields) {
    ServerOptions options;
    options.generation = {.unsupported = {unsupported}};
    FakeServer server(options);
    json request = {{"prompt", "once upon"}, {"max_tokens", 4}};
    request.update(fields);
    const auto response = Asked<v1::CompletionsResponse>(server, CompletionsEndpoint(), request);
    return response ? "" : response.error().reason + " " + response.error().param;
  };
  const proto::GenerationConfig::Unsupported beams = {.key = "num_beams", .value = "4"};
  EXPECT_EQ(ask(beams, json::object()), "unsupported_default num_beams");
  EXPECT_EQ(ask(beams, {{"temperature", 0}}), "unsupported_default num_beams");
  EXPECT_EQ(ask(beams, {{"max_tokens", 0}, {"echo", true}}), "") << "nothing is generated";
  const proto::GenerationConfig::Unsupported top_p = {
      .key = "top_p", .value = "7", .request_field = "top_p"};
  EXPECT_EQ(ask(top_p, json::object()), "unsupported_default top_p");
  EXPECT_EQ(ask(top_p, {{"top_p", 0.5}}), "");
  EXPECT_EQ(ask(top_p, {{"top_p", 7}}), "top_p_out_of_range top_p");
  const proto::GenerationConfig::Unsupported words = {
      .key = "bad_words_ids", .value = "a list", .request_field = "bad_words"};
  EXPECT_EQ(ask(words, json::object()), "unsupported_default bad_words");
  EXPECT_EQ(ask(words, {{"bad_words", {"z"}}}), "");
  const proto::GenerationConfig::Unsupported least = {
      .key = "min_new_tokens", .value = "2", .request_field = "min_tokens"};
  EXPECT_EQ(ask(least, json::object()), "unsupported_default min_tokens");
  EXPECT_EQ(ask(least, {{"min_tokens", 1}}), "");
  const proto::GenerationConfig::Unsupported typical = {
      .key = "typical_p", .value = "0.9", .is_of_draws = true};
  EXPECT_EQ(ask(typical, json::object()), "unsupported_default typical_p");
  EXPECT_EQ(ask(typical, {{"temperature", 0}}), "") << "nothing is drawn";
}

struct Server : CheckingServer {
  auto Prepare(const std::string& body) const {
    return PrepareBody(CompletionsEndpoint(), body, context());
  }
};

class SamplingFieldsValidation : public ValidationTest<Server> {};

TEST_F(SamplingFieldsValidation, FieldsOutOfRangeAreRefused) {
  const std::array<std::array<std::string, 3>, 29> cases = {{
      {R"("min_p":-0.1)", "min_p_out_of_range", "min_p"},
      {R"("min_p":1.1)", "min_p_out_of_range", "min_p"},
      {R"("repetition_penalty":0)", "repetition_penalty_out_of_range", "repetition_penalty"},
      {R"("repetition_penalty":101)", "repetition_penalty_out_of_range", "repetition_penalty"},
      {R"("presence_penalty":2.1)", "presence_penalty_out_of_range", "presence_penalty"},
      {R"("frequency_penalty":-2.1)", "frequency_penalty_out_of_range", "frequency_penalty"},
      {R"("logit_bias":[1])", "wrong_type", "logit_bias"},
      {R"("logit_bias":{"5":"1"})", "wrong_type", "logit_bias.5"},
      {R"("logit_bias":{"5":101})", "logit_bias_out_of_range", "logit_bias.5"},
      {R"("logit_bias":{"300":1})", "token_out_of_vocabulary", "logit_bias.300"},
      {R"("logit_bias":{"-1":1})", "token_out_of_vocabulary", "logit_bias.-1"},
      {R"("logit_bias":{"1.0":1})", "bad_token_id", "logit_bias.1.0"},
      {R"("logit_bias":{" 1":1})", "bad_token_id", "logit_bias. 1"},
      {R"("logit_bias":{"":1})", "bad_token_id", "logit_bias."},
      {R"("logit_bias":{"99999999999":1})", "bad_token_id", "logit_bias.99999999999"},
      {R"("bad_words":"a")", "wrong_type", "bad_words"},
      {R"("bad_words":["a",""])", "empty_bad_word", "bad_words[1]"},
      {R"("bad_words":["<x>"])", "token_out_of_vocabulary", "bad_words[0]"},
      {R"("min_tokens":-1)", "min_tokens_out_of_range", "min_tokens"},
      {R"("min_tokens":6)", "min_tokens_out_of_range", "min_tokens"},
      {R"("allowed_token_ids":[])", "no_token_allowed", "allowed_token_ids"},
      {R"("allowed_token_ids":[300])", "token_out_of_vocabulary", "allowed_token_ids"},
      {R"("allowed_token_ids":[97],"bad_words":["a"])", "no_token_allowed", "allowed_token_ids"},
      {R"("allowed_token_ids":[97,98],"bad_words":["a"],"min_tokens":1,"stop_token_ids":[98])",
       "no_token_allowed", "allowed_token_ids"},
      {R"("include_stop_str_in_output":1)", "wrong_type", "include_stop_str_in_output"},
      {R"("truncate_prompt_tokens":0)", "truncate_prompt_tokens_out_of_range",
       "truncate_prompt_tokens"},
      {R"("truncate_prompt_tokens":-2)", "truncate_prompt_tokens_out_of_range",
       "truncate_prompt_tokens"},
      {R"("repeat_penalty":1.1)", "not_supported", "repeat_penalty"},
      {R"("min_new_tokens":1)", "not_supported", "min_new_tokens"},
  }};
  for (const auto& [fields, reason, param] : cases) {
    ExpectRefused({}, R"({"prompt":"p","max_tokens":5,)" + fields + "}", reason, param);
  }
  ExpectRefused({}, R"({"prompt":"p","bad_words":[")" + std::string(257, 'a') + "\"]}",
                "bad_word_too_long", "bad_words[0]");
  json many = {{"prompt", "p"}, {"bad_words", std::vector<std::string>(257, "a")}};
  ExpectRefused({}, many.dump(), "too_many_bad_words", "bad_words");
  Server chunk_aware;
  chunk_aware.options_.chunks.enable_chunk_aware = true;
  ExpectRefused(chunk_aware, R"({"prompt":"s # # a # # q","truncate_prompt_tokens":9})",
                "not_supported", "truncate_prompt_tokens");
  Server without_tokenizer;
  without_tokenizer.tokenizer_ = nullptr;
  ExpectRefused(without_tokenizer, R"({"prompt":[1],"bad_words":["a"]})", "no_tokenizer",
                "bad_words");
  ExpectAccepted({}, R"({"prompt":"p","max_tokens":5,"min_tokens":5,"min_p":1,)"
                     R"("repetition_penalty":100,"presence_penalty":-2,"frequency_penalty":2,)"
                     R"("logit_bias":{"0":-100,"299":100},"bad_words":[" "],)"
                     R"("allowed_token_ids":[299,1,1],"include_stop_str_in_output":true,)"
                     R"("add_special_tokens":false,"truncate_prompt_tokens":-1})");
}

}  // namespace sampling_fields_test
}  // namespace scorecast::coordinator
