// Completions of /v1/chunked: the demo model answers questions on documents, and the fields for
// sampling, stops and several questions have their effect, whatever else is being computed.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace chunked_completions_test {

using nlohmann::json;

const std::string kSeparator = " # # ";

BatchRun RunAndExpectSuccess(const BatchCommand& command,
                             const std::vector<EndpointRequest>& requests) {
  BatchRun run = RunRequests(command, requests, Transport::kBatch);
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.lines.size(), requests.size());
  return run;
}

json Output(const BatchRun& run, std::size_t line) { return run.Body(line).at("outputs").at(0); }

/// A question about eight documents, one of which has the answer.
struct Reading {
  std::string system;
  std::vector<std::string> chunks;
  std::string question;
  std::string answer;
  std::size_t place = 0;  ///< Index of the chunk that has the answer.

  Reading MovedTo(std::size_t to) const {
    Reading moved = *this;
    moved.chunks.erase(moved.chunks.begin() + static_cast<std::ptrdiff_t>(place));
    moved.chunks.insert(moved.chunks.begin() + static_cast<std::ptrdiff_t>(to), chunks[place]);
    moved.place = to;
    return moved;
  }

  json Structured() const {
    return {{"system_prompt", system}, {"chunks", chunks}, {"question", question}};
  }

  std::string Text() const {
    std::string text = system;
    for (const std::string& chunk : chunks) {
      text += kSeparator + chunk;
    }
    return text + kSeparator + question;
  }
};

/// Readings that the demo model was not trained with.
std::vector<Reading> HeldOut() {
  std::vector<Reading> readings;
  std::ifstream file(DemoModelDirectory() / "../held_out.jsonl");
  for (std::string line; std::getline(file, line);) {
    const json one = json::parse(line);
    if (one.at("kind") == "Reading") {
      const json& question = one.at("questions").at(0);
      // In training, each part was a text of its own, before which SentencePiece puts a space. Here
      // chunks and questions are later sections of a text.
      std::vector<std::string> chunks = one.at("chunks");
      for (std::string& chunk : chunks) {
        chunk.insert(0, " ");
      }
      readings.push_back({one.at("system"), std::move(chunks),
                          " " + question.at(0).get<std::string>(), question.at(1), question.at(2)});
    }
  }
  return readings;
}

Reading OneReading() { return HeldOut().front(); }

json With(json body, const json& more) {
  body.update(more);
  return body;
}

TEST(DemoModelReadings, AreRightWhereverTheAnswerIs) {
  constexpr std::size_t kPlaces = 8;
  constexpr double kRight = 0.9;
  const std::vector<Reading> readings = HeldOut();
  ASSERT_EQ(readings.size(), 150U);
  const json wanted = {{"max_new_tokens", 12}};
  std::vector<EndpointRequest> requests;
  for (const Reading& reading : readings) {
    ASSERT_EQ(reading.chunks.size(), kPlaces);
    for (std::size_t place = 0; place < kPlaces; ++place) {
      const Reading moved = reading.MovedTo(place);
      requests.push_back(ToChunked(With(moved.Structured(), wanted)));
      requests.push_back(ToChunked(With({{"prompt", moved.Text()}}, wanted)));
    }
  }
  const BatchRun run =
      RunAndExpectSuccess({DemoModelDirectory(), {"--enable-chunk-aware"}, 2, ""}, requests);
  std::array<double, kPlaces> right = {};
  for (std::size_t i = 0; i < readings.size(); ++i) {
    for (std::size_t place = 0; place < kPlaces; ++place) {
      const std::size_t line = 2 * (i * kPlaces + place);
      const json output = Output(run, line);
      EXPECT_EQ(Output(run, line + 1), output) << readings[i].Text();
      right[place] += output.at("text") == " " + readings[i].answer + "." &&
                      output.at("finish_reason") == "stop";
    }
  }
  for (std::size_t place = 0; place < kPlaces; ++place) {
    EXPECT_GE(right[place] / static_cast<double>(readings.size()), kRight) << "place " << place;
  }
}

// A prompt is split into chunks only if --enable-chunk-aware is given and the prompt has two
// separators or more.
TEST(Prompts, AreOrdinaryTextUnlessTheyAreSplit) {
  const std::string text = OneReading().Text();
  const std::string one_separator = "Mary likes golf." + kSeparator + "Mary likes";
  const auto requests = [](const std::string& prompt) {
    const json labels = {{"labels", {" golf", " yes"}}, {"return_token_logprobs", true}};
    return std::vector<EndpointRequest>{
        ToChunked(With({{"prompt", prompt}}, labels)),
        ToScore(With({{"query", prompt}, {"items", {""}}}, labels))};
  };
  for (const auto& [prompt, flags] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {text, {}},
           {one_separator, {"--enable-chunk-aware"}},
           {text, {"--enable-chunk-aware", "--chunk-separator", "<|doc|>"}}}) {
    SCOPED_TRACE(::testing::PrintToString(flags));
    const BatchRun run =
        RunAndExpectSuccess({DemoModelDirectory(), flags, 0, ""}, requests(prompt));
    for (const char* field : {"scores", "token_logprobs"}) {
      EXPECT_EQ(run.Body(0).at(field), run.Body(1).at(field)) << field;
    }
    EXPECT_EQ(run.Body(0).at("usage").at("prompt_tokens"),
              run.Body(1).at("usage").at("prompt_tokens"));
  }
  // The split prompt has fewer tokens, because the separators are gone.
  const BatchRun run =
      RunAndExpectSuccess({DemoModelDirectory(), {"--enable-chunk-aware"}, 0, ""}, requests(text));
  EXPECT_LT(run.Body(0).at("usage").at("prompt_tokens"),
            run.Body(1).at("usage").at("prompt_tokens"));
  EXPECT_NE(run.Body(0).at("scores"), run.Body(1).at("scores"));
}

TEST(Prompts, AnySeparatorMayBeChosen) {
  Reading reading = OneReading();
  std::string text = reading.system;
  for (const std::string& chunk : reading.chunks) {
    text += "<|doc|>" + chunk;
  }
  text += "<|doc|>" + reading.question;
  const json wanted = {{"max_new_tokens", 6}, {"labels", {" golf", " yes"}}};
  const BatchRun run = RunAndExpectSuccess(
      {DemoModelDirectory(), {"--enable-chunk-aware", "--chunk-separator", "<|doc|>"}, 0, ""},
      {ToChunked(With(reading.Structured(), wanted)), ToChunked(With({{"prompt", text}}, wanted))});
  EXPECT_EQ(run.Body(0).at("outputs"), run.Body(1).at("outputs"));
  EXPECT_EQ(run.Body(0).at("scores"), run.Body(1).at("scores"));
}

/// Options of a sampled completion that continues after EOS. With odd seeds, some logits are
/// adjusted.
json Sampled(std::uint64_t seed) {
  json options = {
      {"temperature", 1.5}, {"seed", seed}, {"max_new_tokens", 40}, {"ignore_eos", true}};
  if (seed % 2 == 1) {
    options.update({{"repetition_penalty", 1.3},
                    {"frequency_penalty", 0.4},
                    {"logit_bias", {{"300", 4}, {"5", -100}}},
                    {"min_tokens", 10}});
    options[seed % 4 == 1 ? "top_p" : "min_p"] = seed % 4 == 1 ? 0.95 : 0.01;
  }
  return options;
}

TEST(Sampling, TheTextDependsOnTheSeedAndNotOnOtherRequests) {
  const std::vector<Reading> readings = HeldOut();
  const json body = With(readings[3].Structured(), Sampled(5));
  const BatchRun alone = RunAndExpectSuccess({DemoModelDirectory(), {}, 0, ""}, {ToChunked(body)});
  std::vector<EndpointRequest> crowd;
  for (std::uint64_t i = 0; i < 15; ++i) {
    crowd.push_back(ToChunked(With(readings[i].Structured(), Sampled(i))));
    crowd.push_back(ToScore({{"query", readings[i].question},
                             {"items", readings[i].chunks},
                             {"labels", {" yes", " no"}}}));
  }
  crowd.insert(crowd.begin() + 11, ToChunked(body));
  std::vector<std::string> first;
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {}, {"--kv-cache-mb", "0"}, {"--kv-cache-mb", "0", "--max-batch-tokens", "24"}}) {
    SCOPED_TRACE(::testing::PrintToString(flags));
    const BatchRun amid = RunAndExpectSuccess({DemoModelDirectory(), flags, 0, ""}, crowd);
    EXPECT_EQ(Output(amid, 11), Output(alone, 0));
    std::vector<std::string> all;
    for (std::size_t i = 0; i < crowd.size(); ++i) {
      all.push_back(amid.StableResponse(i));
    }
    if (first.empty()) {
      first = all;
    }
    EXPECT_EQ(all, first);
  }
}

TEST(Sampling, OtherSeedsGiveOtherTexts) {
  std::vector<EndpointRequest> requests;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    requests.push_back(ToChunked(With(OneReading().Structured(), Sampled(seed))));
  }
  json unseeded = With(OneReading().Structured(), Sampled(0));
  unseeded.erase("seed");
  requests.push_back(ToChunked(unseeded));
  requests.push_back(ToChunked(unseeded));
  requests.push_back(ToChunked(With(OneReading().Structured(), Sampled(7))));
  const BatchRun run = RunAndExpectSuccess({DemoModelDirectory(), {}, 2, ""}, requests);
  const BatchRun on_one = RunAndExpectSuccess({DemoModelDirectory(), {}, 0, ""}, {requests.back()});
  EXPECT_EQ(Output(run, 5), Output(on_one, 0)) << "ranks leave adjusted tokens to rank 0";
  EXPECT_NE(Output(run, 0), Output(run, 1));
  EXPECT_NE(Output(run, 0), Output(run, 2));
  EXPECT_NE(Output(run, 1), Output(run, 2));
  EXPECT_EQ(run.Body(0).at("seed"), 0);
  EXPECT_EQ(run.Body(2).at("seed"), ~std::uint64_t{0});
  EXPECT_NE(Output(run, 3), Output(run, 4)) << "each has a seed of its own";
  EXPECT_NE(run.Body(3).at("seed"), run.Body(4).at("seed"));
  json again = unseeded;
  again["seed"] = run.Body(3).at("seed");
  // Scores have the same bits only on the same number of ranks.
  const BatchRun repeated =
      RunAndExpectSuccess({DemoModelDirectory(), {}, 2, ""}, {ToChunked(again)});
  EXPECT_EQ(Output(repeated, 0), Output(run, 3)) << "the seed that the response says";
}

TEST(Sampling, ABatchWithASeedGivesTheSameTextsAgain) {
  json unseeded = With(OneReading().Structured(), Sampled(0));
  unseeded.erase("seed");
  const json greedy = {{"max_new_tokens", 4}};
  const std::vector<EndpointRequest> requests = {
      ToChunked(unseeded), ToChunked(unseeded), ToChunked(With(OneReading().Structured(), greedy))};
  const auto run = [&](const char* seed, int ranks) {
    return RunAndExpectSuccess({DemoModelDirectory(), {"--seed", seed}, ranks, ""}, requests);
  };
  const BatchRun first = run("7", 0);
  const BatchRun second = run("7", 2);
  const BatchRun other = run("8", 0);
  EXPECT_NE(Output(first, 0), Output(first, 1)) << "each line has a seed of its own";
  for (std::size_t line = 0; line < 2; ++line) {
    EXPECT_EQ(Output(second, line), Output(first, line));
    EXPECT_EQ(second.Body(line).at("seed"), first.Body(line).at("seed"));
    EXPECT_NE(other.Body(line).at("seed"), first.Body(line).at("seed"));
    EXPECT_NE(Output(other, line), Output(first, line));
  }
  EXPECT_FALSE(first.Body(2).contains("seed")) << "nothing is drawn";
}

TEST(Sampling, TopKAndTopPCutTheTail) {
  const json greedy = {{"max_new_tokens", 20}, {"ignore_eos", true}};
  std::vector<EndpointRequest> requests;
  for (const json& options :
       {greedy, With(Sampled(8), {{"top_k", 1}, {"max_new_tokens", 20}}),
        With(Sampled(8), {{"top_p", 1e-6}, {"max_new_tokens", 20}}), Sampled(8),
        With(Sampled(8), {{"top_p", 1}, {"top_k", 0}}), With(Sampled(8), {{"top_k", 1000000}}),
        With(Sampled(8), {{"top_p", 0.5}}), With(Sampled(8), {{"top_k", 3}})}) {
    requests.push_back(ToChunked(With(OneReading().Structured(), options)));
  }
  for (const int ranks : {0, 3}) {
    SCOPED_TRACE(ranks);
    const BatchRun run = RunAndExpectSuccess({DemoModelDirectory(), {}, ranks, ""}, requests);
    EXPECT_EQ(Output(run, 1), Output(run, 0));
    EXPECT_EQ(Output(run, 2), Output(run, 0));
    EXPECT_EQ(Output(run, 4), Output(run, 3));
    EXPECT_EQ(Output(run, 5), Output(run, 3));
    EXPECT_NE(Output(run, 6), Output(run, 3));
    EXPECT_NE(Output(run, 7), Output(run, 3));
  }
}

// Every completion grows beyond the pages that it began with. There are too few pages for all, so
// some completions are preempted.
TEST(Sampling, PreemptedCompletionsAreTheSame) {
  const std::filesystem::path dir = MakeModel("");
  std::vector<EndpointRequest> requests;
  for (std::uint64_t i = 0; i < 10; ++i) {
    json body = With({{"question", reference::RandomTokens(i, 20 + i, kModelVocabSize)}},
                     With(Sampled(i), {{"max_new_tokens", 130}}));
    if (i % 2 == 0) {
      body["system_prompt"] = reference::RandomTokens(100 + i, 5, kModelVocabSize);
      body["chunks"] = {reference::RandomTokens(200 + i, 9, kModelVocabSize)};
    }
    requests.push_back(ToChunked(body));
  }
  const BatchRun roomy = RunAndExpectSuccess({dir, {"--kv-cache-mb", "64"}, 0, ""}, requests);
  for (const int ranks : {0, 2}) {
    const BatchRun narrow = RunAndExpectSuccess({dir, {"--kv-cache-mb", "0"}, ranks, ""}, requests);
    const BatchRun expected =
        ranks == 0 ? roomy
                   : RunAndExpectSuccess({dir, {"--kv-cache-mb", "64"}, ranks, ""}, requests);
    for (std::size_t i = 0; i < requests.size(); ++i) {
      EXPECT_EQ(narrow.StableResponse(i), expected.StableResponse(i)) << "completion " << i;
    }
  }
}

TEST(Stops, EndACompletion) {
  const Reading reading = OneReading();
  const auto ask = [&](const json& options) {
    return ToChunked(With(With(reading.Structured(), {{"max_new_tokens", 12}}), options));
  };
  const BatchRun plain =
      RunAndExpectSuccess({DemoModelDirectory(), {}, 0, ""}, {ask(json::object())});
  const json completion = Output(plain, 0);
  ASSERT_EQ(completion.at("text"), " " + reading.answer + ".") << "it continues the question";
  EXPECT_EQ(completion.at("finish_reason"), "stop");
  const std::vector<TokenId> ids = completion.at("token_ids");
  ASSERT_GE(ids.size(), 3U);
  EXPECT_EQ(ids.back(), 2) << "EOS is one of the tokens, but adds no text";
  EXPECT_EQ(plain.Body(0).at("usage").at("completion_tokens"), ids.size());

  const std::size_t length = ids.size();
  const BatchRun run = RunAndExpectSuccess(
      {DemoModelDirectory(), {}, 0, ""},
      {ask({{"stop", "."}}), ask({{"stop", {"never", reading.answer.substr(1)}}}),
       ask({{"stop_token_ids", {ids[length - 2]}}}), ask({{"ignore_eos", true}}),
       ask({{"max_new_tokens", length - 1}}), ask({{"stop", {"never"}}})});
  EXPECT_EQ(Output(run, 0).at("text"), " " + reading.answer);
  EXPECT_EQ(Output(run, 0).at("finish_reason"), "stop");
  EXPECT_EQ(Output(run, 0).at("token_ids").size(), length - 1);
  EXPECT_EQ(Output(run, 1).at("text"), " " + reading.answer.substr(0, 1));
  EXPECT_EQ(Output(run, 2).at("text"), " " + reading.answer);
  EXPECT_EQ(Output(run, 2).at("token_ids").size(), length - 1);
  EXPECT_EQ(Output(run, 2).at("finish_reason"), "stop");
  EXPECT_EQ(Output(run, 3).at("finish_reason"), "length");
  EXPECT_EQ(Output(run, 3).at("token_ids").size(), 12U);
  EXPECT_EQ(Output(run, 4).at("finish_reason"), "length");
  EXPECT_EQ(Output(run, 4).at("text"), " " + reading.answer + ".");
  EXPECT_EQ(Output(run, 5), completion);
}

TEST(Questions, InOneRequestGiveTheSameAsInSeveral) {
  const std::vector<Reading> readings = HeldOut();
  std::vector<std::string> questions;
  for (std::size_t i = 0; i < 5; ++i) {
    questions.push_back(readings[i].question);
  }
  for (const json& options :
       {json({{"max_new_tokens", 8}}), json(Sampled(4)),
        json({{"chunk_position_strategy", "offset"}, {"chunk_temperature", 0.9}})}) {
    SCOPED_TRACE(options.dump());
    const json scored = With(options, {{"labels", {" golf", " yes", " no"}},
                                       {"return_token_logprobs", true},
                                       {"top_logprobs", 2}});
    json together = With(readings[0].Structured(), scored);
    together.erase("question");
    together["questions"] = questions;
    std::vector<EndpointRequest> requests = {ToChunked(together)};
    for (const std::string& question : questions) {
      requests.push_back(
          ToChunked(With(With(readings[0].Structured(), scored), {{"question", question}})));
    }
    const BatchRun run = RunAndExpectSuccess({DemoModelDirectory(), {}, 2, ""}, requests);
    const json body = run.Body(0);
    ASSERT_EQ(body.at("scores").size(), questions.size());
    for (std::size_t q = 0; q < questions.size(); ++q) {
      const json one = run.Body(1 + q);
      for (const char* field : {"scores", "token_logprobs", "top_logprobs", "outputs"}) {
        ASSERT_EQ(body.contains(field), one.contains(field)) << field;
        if (body.contains(field)) {
          EXPECT_EQ(body.at(field).at(q), one.at(field).at(0)) << field << ", question " << q;
        }
      }
    }
  }
}

}  // namespace chunked_completions_test
}  // namespace scorecast::testing
