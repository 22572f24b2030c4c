// Texts that are too long are refused without tokenizing them to their ends, and none is tokenized
// if nobody waits for the response.

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/endpoints/chunked/chunked_endpoint.h"
#include "coordinator/endpoints/score/score_endpoint.h"
#include "tests/coordinator/endpoints/validation.h"

namespace scorecast::coordinator {
namespace text_limits_test {

/// Counts the tokens that it makes.
class CountingTokenizer : public FakeTokenizer {
 public:
  using FakeTokenizer::FakeTokenizer;

  void EncodeText(std::string_view text, const EncodeOptions& options,
                  TokenCollector& tokens) const override {
    try {
      FakeTokenizer::EncodeText(text, options, tokens);
    } catch (const TokenCollector::Ended&) {
      made += tokens.ids().size();
      throw;
    }
    made += tokens.ids().size();
  }

  mutable std::size_t made = 0;
};

class TextLimits : public testing::Test {
 protected:
  TextLimits() {
    server_.options_.delimiter = kDelimiter;
    server_.options_.max_multi_item_seq_len = 100;
    server_.options_.chunks.enable_chunk_aware = true;
    server_.options_.chunks.max_chunk_len = 20;
    server_.tokenizer_ = &tokenizer_;
  }

  proto::Expected<PreparedRequest> Prepare(const Endpoint& endpoint, const std::string& body) {
    RequestContext context = server_.context();
    context.interruption = &interruption_;
    tokenizer_.made = 0;
    return PrepareBody(endpoint, body, context);
  }

  /// Tokens that are made of texts that are refused, at most: with CountedTokens, and twice,
  /// because a query is encoded once more.
  static constexpr std::size_t kMost = 1100;

  void ExpectDropped(const Endpoint& endpoint, const std::string& body, const std::string& reason,
                     const std::string& param, const std::string& message) {
    const auto prepared = Prepare(endpoint, body);
    ASSERT_FALSE(prepared.has_value());
    EXPECT_EQ(prepared.error().code, 400);
    EXPECT_EQ(prepared.error().reason, reason);
    EXPECT_EQ(prepared.error().param, param);
    EXPECT_THAT(prepared.error().message, testing::HasSubstr(message));
    EXPECT_LE(tokenizer_.made, kMost);
  }

  static std::string Score(const std::string& query, const std::vector<std::string>& items) {
    return nlohmann::json{{"query", query}, {"items", items}, {"label_token_ids", {1}}}.dump();
  }

  CheckingServer server_;
  CountingTokenizer tokenizer_{{{"<d>", kDelimiter}, {" yes", kYes}, {" no", kNo}}, kBos};
  std::atomic<bool> stop_ = false;
  const Interruption interruption_{stop_};
  const std::string long_ = std::string(100'000, 'a');
  const Endpoint& score_ = ScoreEndpoint();
  const Endpoint& chunked_ = ChunkedEndpoint();
};

TEST_F(TextLimits, OfQueryAndItemsTogether) {
  ExpectDropped(score_, Score(long_, {"b"}), "sequence_too_long", "items", "more than 100 tokens");
  ExpectDropped(score_, Score("a", {"b", long_}), "sequence_too_long", "items",
                "more than 100 tokens");
  ExpectDropped(score_, Score("a", std::vector<std::string>(128, std::string(60, 'b'))),
                "sequence_too_long", "items", "more than 100 tokens");
  server_.options_.item_tokenization = ItemTokenization::kContinued;
  ExpectDropped(score_, Score("a", {"b", long_}), "sequence_too_long", "items",
                "more than 100 tokens");
  // Each item merges with the query, which is encoded again for it.
  ExpectDropped(score_, Score(std::string(50, 'a') + " y", std::vector<std::string>(128, "es")),
                "sequence_too_long", "items", "more than 100 tokens");
}

TEST_F(TextLimits, OfAnItemByItself) {
  server_.options_.delimiter.reset();
  for (const auto tokenization : {ItemTokenization::kContinued, ItemTokenization::kAlone}) {
    server_.options_.item_tokenization = tokenization;
    ExpectDropped(score_, Score("a", {"b", long_, "c"}), "too_many_positions", "items[1]",
                  "more than 320 > 64 (query and items[1]). Nothing is cut");
    ExpectDropped(score_, Score(long_, {"b", "c"}), "too_many_positions", "items[0]",
                  "more than 320 > 64 (query and items[0])");
    EXPECT_TRUE(Prepare(score_, Score(long_, {})).has_value());
    EXPECT_LE(tokenizer_.made, kMost);
    EXPECT_TRUE(Prepare(score_, Score("a", std::vector<std::string>(128, std::string(60, 'b'))))
                    .has_value());
  }
}

TEST_F(TextLimits, OfAPrompt) {
  server_.options_.delimiter.reset();
  server_.options_.one_by_one = true;
  for (const auto tokenization : {ItemTokenization::kContinued, ItemTokenization::kAlone}) {
    server_.options_.item_tokenization = tokenization;
    for (const bool item_first : {false, true}) {
      const auto body = [&](const std::string& query, const std::vector<std::string>& items) {
        nlohmann::json json = nlohmann::json::parse(Score(query, items));
        json["item_first"] = item_first;
        return json.dump();
      };
      ExpectDropped(score_, body("a", {"b", long_, "c"}), "too_many_positions", "items[1]",
                    "more than 320 > 64 (query and items[1]). Nothing is cut");
      ExpectDropped(score_, body(long_, {"b", "c"}), "too_many_positions", "items[0]",
                    "more than 320 > 64 (query and items[0])");
      EXPECT_TRUE(Prepare(score_, body(long_, {})).has_value());
      EXPECT_LE(tokenizer_.made, kMost);
    }
  }
}

TEST_F(TextLimits, OfThePartsOfAChunkedRequest) {
  const auto body = [](const std::string& system_prompt, const std::string& chunk,
                       const std::string& question) {
    return nlohmann::json{{"system_prompt", system_prompt},
                          {"chunks", {"c", chunk}},
                          {"question", question},
                          {"label_token_ids", {1}}}
        .dump();
  };
  ExpectDropped(chunked_, body(long_, "c", "?"), "too_many_positions", "system_prompt",
                "more than 320 > 64");
  ExpectDropped(chunked_, body("s", long_, "?"), "chunk_too_long", "chunks[1]",
                "more than 20 tokens");
  ExpectDropped(chunked_, body("s", "c", long_), "too_many_positions", "question",
                "more than 320 > 64");
  ExpectDropped(chunked_, nlohmann::json{{"prompt", long_}, {"label_token_ids", {1}}}.dump(),
                "too_many_positions", "prompt", "more than 320 > 64");
}

TEST_F(TextLimits, OfAllPartsOfAChunkedRequestTogether) {
  const auto body = [](std::size_t chunks, std::size_t questions, nlohmann::json more) {
    more["chunks"] = std::vector<std::string>(chunks, std::string(15, 'c'));
    more["questions"] = std::vector<std::string>(questions, std::string(40, '?'));
    more["label_token_ids"] = {1};
    return more.dump();
  };
  server_.limits_.kept_kv_rows = 128;
  EXPECT_TRUE(Prepare(chunked_, body(3, 1, {{"chunk_position_strategy", "shared"}})).has_value());
  // 15 tokens each, at the same positions.
  ExpectDropped(chunked_, body(100, 1, {{"chunk_position_strategy", "shared"}}), "capacity",
                "chunks", "more than 128 tokens");
  // One behind the other.
  ExpectDropped(chunked_, body(100, 1, {{"chunk_position_strategy", "offset"}}),
                "too_many_positions", "chunks", "more than 320 > 64");
  ExpectDropped(chunked_,
                body(100, 1, {{"chunk_position_strategy", "shared"}, {"chunk_groups", {100}}}),
                "too_many_positions", "chunks", "more than 320 > 64");
  // Completions keep the K/V of their questions.
  ExpectDropped(chunked_, body(0, 100, {{"max_new_tokens", 2}}), "capacity", "questions[0]",
                "more than 128 tokens");
  EXPECT_TRUE(Prepare(chunked_, body(0, 100, nlohmann::json::object())).has_value());
}

TEST_F(TextLimits, OfATextWithoutACut) {
  const std::string uncut(4'000'000, 'a');
  ExpectDropped(score_, Score(uncut, {"b"}), "uncut_text", "query", "more than 262144 bytes");
  ExpectDropped(score_, Score("a", {"b", uncut}), "uncut_text", "items[1]", "but items[1] has");
  server_.options_.delimiter.reset();
  ExpectDropped(score_, Score(uncut, {"b"}), "uncut_text", "query", "more than 262144 bytes");
  EXPECT_TRUE(Prepare(score_, Score(uncut, {})).has_value());
  const auto chunked = [](const std::string& chunk, const std::string& question) {
    return nlohmann::json{
        {"chunks", {"c", chunk}}, {"question", question}, {"label_token_ids", {1}}}
        .dump();
  };
  ExpectDropped(chunked_, chunked(uncut, "?"), "uncut_text", "chunks[1]", "chunks[1] has");
  ExpectDropped(chunked_, chunked("c", uncut), "uncut_text", "question", "question has");
  ExpectDropped(
      score_, nlohmann::json{{"query", "a"}, {"items", {"b"}}, {"labels", {" yes", uncut}}}.dump(),
      "uncut_text", "labels[1]", "labels[1] has");
}

TEST_F(TextLimits, OfALabel) {
  const std::string body =
      nlohmann::json{{"query", "a"}, {"items", {"b"}}, {"labels", {" yes", long_}}}.dump();
  EXPECT_THAT(Prepare(score_, body).error().message, testing::HasSubstr("more than 1000 tokens"));
  EXPECT_LE(tokenizer_.made, 2000u);
}

TEST_F(TextLimits, NothingIsTokenizedIfNobodyWaits) {
  stop_ = true;
  EXPECT_FALSE(Prepare(score_, Score("a", {"b"})).has_value());
  EXPECT_EQ(tokenizer_.made, 0u);
  server_.options_.delimiter.reset();
  EXPECT_FALSE(Prepare(score_, Score("a", {"b"})).has_value());
  EXPECT_EQ(tokenizer_.made, 0u);
  EXPECT_FALSE(Prepare(chunked_, nlohmann::json{{"prompt", "a"}, {"label_token_ids", {1}}}.dump())
                   .has_value());
  EXPECT_EQ(tokenizer_.made, 0u);
  EXPECT_EQ(
      Prepare(score_, nlohmann::json{{"query", "a"}, {"items", {"b"}}, {"labels", {" yes"}}}.dump())
          .error()
          .reason,
      "stopped");
  EXPECT_EQ(tokenizer_.made, 0u);
}

}  // namespace text_limits_test
}  // namespace scorecast::coordinator
