// Cases of text that other servers got wrong, and the fields of a response.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/models.h"
#include "tests/e2e/scorecast_program.h"
#include "tests/reference/directories.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace text_test {

using nlohmann::json;
using ::testing::HasSubstr;

std::string Scores(const BatchRun& run, std::size_t line) {
  return run.Body(line).at("scores").dump();
}

// Requests are checked for the delimiter's id, never for its text. The digits of the id are
// ordinary text.
TEST(Delimiter, ItsNumberAsTextIsPlainText) {
  const std::filesystem::path dir = MakeModel("ignore-merges");
  const json request = {{"query", "a 562"}, {"items", {"562", "a"}}, {"labels", {"a"}}};
  const BatchRun run = RunBatch({dir, {"--multi-item-scoring-delimiter", "562"}}, {request});
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.StatusCode(0), 200);
}

// Llama 3's <|eot_id|> is 128009.
TEST(Delimiter, ItsNumberAsTextIsPlainTextUnderLlama3) {
  const std::filesystem::path tokenizer =
      std::filesystem::path(reference::kSharedDirectory) / "golden/tokenizers/llama3";
  if (!std::filesystem::exists(tokenizer)) {
    GTEST_SKIP() << "no reference tokenizer at " << tokenizer;
  }
  const std::filesystem::path dir = NewDirectory();
  reference::RandomCheckpoint checkpoint;
  checkpoint.config = reference::TinyConfig("llama");
  checkpoint.config.hidden_size = 16;
  checkpoint.config.vocab_size = 128256;
  checkpoint.config.tie_word_embeddings = true;
  reference::WriteRandomCheckpoint(dir, checkpoint);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) {
    std::filesystem::create_symlink(std::filesystem::canonical(tokenizer / name), dir / name);
  }
  const json labels = {1, 2};
  const BatchRun run = RunBatch(
      {dir, {"--multi-item-scoring-delimiter", "<|eot_id|>"}},
      {{{"query", "Is it?"}, {"items", {"128009", "yes"}}, {"label_token_ids", labels}},
       {{"query", "Is it?"}, {"items", {"yes", "no<|eot_id|>"}}, {"label_token_ids", labels}}});
  EXPECT_EQ(run.StatusCode(0), 200) << run.lines.at(0);
  EXPECT_EQ(run.StatusCode(1), 400);
  EXPECT_EQ(run.Body(1).at("reason"), "delimiter_in_item");
  EXPECT_EQ(run.Body(1).at("param"), "items[1]");
  EXPECT_THAT(run.Body(1).at("message").get<std::string>(), HasSubstr("128009"));
}

// SentencePiece never finds a control token's spelling in text, so no text contains it.
TEST(Delimiter, ASentencePieceControlTokenCannotBeWritten) {
  const std::string tokenizer = "sentencepiece-bpe";
  const TextVector spelling = VectorOf(tokenizer, "</s>");
  ASSERT_EQ(std::count(spelling.ids.begin(), spelling.ids.end(), 2), 0);
  const std::filesystem::path dir = MakeModel(tokenizer);
  const BatchRun run =
      RunBatch({dir, {"--multi-item-scoring-delimiter", "</s>"}},
               {{{"query", "a"}, {"items", {"</s>"}}, {"label_token_ids", {5}}},
                {{"query", {1, 358}}, {"items", {spelling.ids}}, {"label_token_ids", {5}}},
                {{"query", {1, 358}}, {"items", {{3}, {2}}}, {"label_token_ids", {5}}}});
  EXPECT_EQ(run.StatusCode(0), 200);
  EXPECT_EQ(Scores(run, 0), Scores(run, 1));
  EXPECT_EQ(run.StatusCode(2), 400) << "a list of ids can contain the delimiter";
  EXPECT_EQ(run.Body(2).at("param"), "items[1]");
}

TEST(Delimiter, MayBeId0) {
  const BatchRun run = RunBatch({MakeModel(""), {"--multi-item-scoring-delimiter", "0"}},
                                {{{"query", {1}}, {"items", {{2}}}, {"label_token_ids", {0, 3}}},
                                 {{"query", {1}}, {"items", {{2}, {0}}}, {"label_token_ids", {3}}},
                                 {{"query", {0}}, {"items", {{2}}}, {"label_token_ids", {3}}}});
  EXPECT_EQ(run.StatusCode(0), 200);
  EXPECT_EQ(run.Body(1).at("reason"), "delimiter_in_item");
  EXPECT_EQ(run.Body(1).at("param"), "items[1]");
  EXPECT_EQ(run.Body(2).at("reason"), "delimiter_in_query");
}

/// A request by text, and the same by ids.
struct TextAndIds {
  EndpointRequest text;
  EndpointRequest ids;
};

TEST(SpecialTokensInText, AreTextIfTheyAreEscaped) {
  const std::filesystem::path dir = MakeModel("digits");  // No BOS.
  const std::vector<std::string> texts = {"a<|im_end|>b", " c<|im_start|>", "<|im_end|>"};
  std::string lines;
  for (const std::string& text : texts) {
    lines += json{{"text", text}}.dump() + "\n";
  }
  const std::vector<std::string> flag = {"--special-tokens-in-text", "escape"};
  const ProcessResult tokenized =
      RunScorecast({"tokenize", "--model", dir, flag[0], flag[1]}, 0, lines);
  std::vector<json> ids;
  for (const std::string& line : LinesOf(tokenized.out)) {
    ids.push_back(json::parse(line).at("ids"));
    for (const json& id : ids.back()) {
      EXPECT_GT(id, 2) << "0, 1 and 2 are the special tokens";
    }
  }
  ASSERT_EQ(ids.size(), texts.size());

  // Labels are tokens that the request names, not a text.
  const auto score = [&](const json& query, const json& items) {
    return ToScore({{"query", query}, {"items", items}, {"labels", {"<|im_end|>", "a"}}});
  };
  const auto chunked = [&](const json& system, const json& chunks, const json& question) {
    return ToChunked({{"system_prompt", system},
                      {"chunks", chunks},
                      {"question", question},
                      {"labels", {"<|im_end|>", "a"}}});
  };
  const std::vector<TextAndIds> requests = {
      {score(texts[0], {texts[2], texts[1]}), score(ids[0], {ids[2], ids[1]})},
      {chunked(texts[0], json::array({texts[2]}), texts[1]),
       chunked(ids[0], json::array({ids[2]}), ids[1])},
  };
  for (const std::string delimiter : {"", "<|im_end|>"}) {
    SCOPED_TRACE(delimiter);
    BatchCommand command = {dir, flag};
    if (!delimiter.empty()) {
      command.flags.insert(command.flags.end(), {"--multi-item-scoring-delimiter", delimiter});
    }
    std::vector<EndpointRequest> all;
    for (const TextAndIds& request : requests) {
      all.insert(all.end(), {request.text, request.ids});
    }
    const BatchRun run = RunRequests(command, all);
    for (std::size_t i = 0; i < all.size(); i += 2) {
      ASSERT_EQ(run.StatusCode(i), 200) << run.lines[i];
      ASSERT_EQ(run.StatusCode(i + 1), 200) << run.lines[i + 1];
      EXPECT_EQ(Scores(run, i), Scores(run, i + 1));
    }
  }
}

TEST(Bos, IsAddedOnceAtTheStart) {
  const std::string tokenizer = "ignore-merges";  // BOS is 560, <|endoftext|>.
  const std::filesystem::path dir = MakeModel(tokenizer);
  const json labels = {300, 17};
  const std::vector<TokenId> harbour = VectorOf(tokenizer, "harbour").ids;
  const std::vector<TokenId> a = VectorOf(tokenizer, " a").ids;
  std::vector<TokenId> query = {560};
  query.insert(query.end(), harbour.begin(), harbour.end());
  const json text = {{"query", "harbour"}, {"items", {" a", ""}}, {"label_token_ids", labels}};
  const json ids = {{"query", query}, {"items", {a, json::array()}}, {"label_token_ids", labels}};
  // An empty query is the BOS alone. A query that spells out the BOS has it twice.
  const json no_text = {{"query", ""}, {"items", {" a"}}, {"label_token_ids", labels}};
  const json bos_alone = {{"query", {560}}, {"items", {a}}, {"label_token_ids", labels}};
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--multi-item-scoring-delimiter", "<|im_end|>"},
        {"--enable-mis"},
        {},
        {"--one-by-one"}}) {
    SCOPED_TRACE(::testing::PrintToString(flags));
    const BatchRun run = RunBatch({dir, flags}, {text, ids, no_text, bos_alone});
    ASSERT_EQ(run.exit_code, 0) << run.err;
    EXPECT_EQ(Scores(run, 0), Scores(run, 1));
    EXPECT_EQ(run.StableResponse(0), run.StableResponse(1));
    EXPECT_EQ(Scores(run, 2), Scores(run, 3));
  }
}

TEST(Bos, WithoutOneAnEmptyQueryIsRefused) {
  const json request = {{"query", ""}, {"items", {" a"}}, {"label_token_ids", {3}}};
  const std::filesystem::path dir = MakeModel("digits");
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{}, {"--one-by-one"}, {"--multi-item-scoring-delimiter", "0"}}) {
    const BatchRun run = RunBatch({dir, flags}, {request});
    EXPECT_EQ(run.exit_code, 3);
    EXPECT_EQ(run.Body(0).at("reason"), "empty_query");
    EXPECT_EQ(run.Body(0).at("param"), "query");
  }
}

// Expected ids: SentencePiece, which puts a space before a text; with add_dummy_prefix off for
// chunks and questions.
TEST(Sections, ChunksAndQuestionsAreLaterSectionsOfAText) {
  const json labels = {300, 17};
  const json text = {{"system_prompt", "The harbour"},
                     {"chunks", {"is open.", " every boat"}},
                     {"question", "Where is"},
                     {"label_token_ids", labels}};
  const json ids = {{"system_prompt", {1, 370, 315}},
                    {"chunks", {{425, 332, 690}, {310, 330}}},
                    {"question", {695, 653, 260, 644, 349}},
                    {"label_token_ids", labels}};
  const json prompt = {{"prompt", "The harbour # # is open. # #  every boat # # Where is"},
                       {"label_token_ids", labels}};
  const BatchRun run = RunRequests({MakeModel("sentencepiece-bpe"), {"--enable-chunk-aware"}},
                                   {ToChunked(text), ToChunked(ids), ToChunked(prompt)});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(run.StableResponse(0), run.StableResponse(1));
  EXPECT_EQ(run.StableResponse(2), run.StableResponse(1));
}

TEST(Labels, AsTextAreTheirIds) {
  const json request = {{"query", "The harbour"}, {"items", {" a", "b"}}};
  json text = request;
  text["labels"] = {" harbour", "a", "<|endoftext|>"};
  json ids = request;
  ids["label_token_ids"] = {343, 67, 0};  // single.jsonl of the tokenizer
  const BatchRun run =
      RunBatch({MakeModel("digits"), {"--multi-item-scoring-delimiter", "2"}}, {text, ids});
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(Scores(run, 0), Scores(run, 1));
}

class ResponseFields : public ::testing::TestWithParam<int> {
 protected:
  BatchRun RunWith(const std::vector<json>& requests) const {
    BatchRun run = RunBatch(
        {MakeModel(""), {"--multi-item-scoring-delimiter", "7"}, GetParam(), "f32"}, requests);
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run;
  }

  const json request_ = {{"query", {10, 11, 12}},
                         {"items", {{20, 21}, {22}, json::array()}},
                         {"label_token_ids", {500, 3, 42}},
                         {"return_token_logprobs", true}};
};

TEST_P(ResponseFields, EachItemMayHaveItsOwnLabels) {
  json each = request_;
  each["label_token_ids"] = {{3}, {42, 500}, {500, 3, 42}};
  const BatchRun run = RunWith({request_, each});
  const json one = run.Body(0).at("scores");
  EXPECT_EQ(run.Body(1).at("scores").dump(),
            json({{one[0][1]}, {one[1][2], one[1][0]}, {one[2][0], one[2][1], one[2][2]}}).dump());
  EXPECT_FALSE(run.Body(1).contains("query_token_logprobs"));
  EXPECT_TRUE(run.Body(0).contains("query_token_logprobs"));
}

TEST_P(ResponseFields, SoftmaxIsOverTheLabelsInTheirOrder) {
  json softmax = request_;
  softmax["apply_softmax"] = true;
  json warm = softmax;
  warm["temperature"] = 2.5;
  json bare = softmax;
  bare.erase("return_token_logprobs");
  const BatchRun run = RunWith({request_, softmax, warm, bare});
  for (std::size_t item = 0; item < 3; ++item) {
    const std::vector<double> logprobs = run.Body(0).at("token_logprobs")[item];
    for (std::size_t label = 0; label < logprobs.size(); ++label) {
      EXPECT_DOUBLE_EQ(run.Body(0).at("scores")[item][label].get<double>(),
                       std::exp(logprobs[label]));
      for (const auto& [line, temperature] : {std::pair{1, 1.0}, std::pair{2, 2.5}}) {
        double sum = 0;
        for (const double logprob : logprobs) {
          sum += std::exp((logprob - logprobs[label]) / temperature);
        }
        // Log-probabilities and each step above have a relative rounding error of 2^-53.
        EXPECT_NEAR(run.Body(static_cast<std::size_t>(line)).at("scores")[item][label], 1 / sum,
                    1e-13);
      }
    }
  }
  EXPECT_EQ(run.Body(1).at("token_logprobs"), run.Body(0).at("token_logprobs"));
  // Logits of the labels alone come from another matrix product than those of the whole vocabulary.
  // They agree to float32's precision.
  for (std::size_t item = 0; item < 3; ++item) {
    for (std::size_t label = 0; label < 3; ++label) {
      EXPECT_NEAR(run.Body(3).at("scores")[item][label].get<double>(),
                  run.Body(1).at("scores")[item][label].get<double>(), 1e-5);
    }
  }
}

TEST_P(ResponseFields, TheQueryAndEachItemHaveTopLogProbabilities) {
  json top = request_;
  top["top_logprobs"] = 50;
  const BatchRun run = RunWith({top});
  const json rows = run.Body(0).at("top_logprobs");
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[3], rows[0]) << "an empty item is read at the query's end";
  for (const json& row : rows) {
    ASSERT_EQ(row.size(), 50U);
    for (std::size_t place = 1; place < row.size(); ++place) {
      const double before = row[place - 1][1];
      const double here = row[place][1];
      EXPECT_TRUE(before > here || (before == here && row[place - 1][0] < row[place][0]));
    }
  }
}

TEST_P(ResponseFields, UsageAndTimings) {
  const BatchRun run = RunWith({request_});
  const json body = run.Body(0);
  EXPECT_EQ(body.at("object"), "scoring");
  EXPECT_EQ(body.at("usage"), json({{"prompt_tokens", 6},
                                    {"total_tokens", 6},
                                    {"completion_tokens", 0},
                                    {"cached_tokens", 0}}));
  for (const char* field : {"queue_ms", "tokenize_ms", "forward_ms", "total_ms"}) {
    EXPECT_GE(body.at("timings").at(field).get<double>(), 0) << field;
  }
  EXPECT_FALSE(body.contains("item_first_ignored"));
  EXPECT_FALSE(body.contains("top_logprobs"));
}

INSTANTIATE_TEST_SUITE_P(Ranks, ResponseFields, ::testing::Values(0, 2));

}  // namespace text_test
}  // namespace scorecast::testing
