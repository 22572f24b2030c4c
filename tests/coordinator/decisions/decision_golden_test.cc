// The tokens of decision prompts against those of whole prompts: tests/golden/make/decisions.py.

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/decisions/decider.h"
#include "tests/coordinator/text/json_lines.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace decision_golden_test {

using Json = nlohmann::ordered_json;
using Ids = std::vector<TokenId>;

const std::filesystem::path kGolden =
    std::filesystem::path(reference::kTestsDirectory) / "golden" / "decisions";

std::string TextOf(const Json& value) {
  return value.is_null() ? "" : value.is_string() ? value.get<std::string>() : value.dump();
}

/// A question of cases.jsonl, with the texts that it views.
struct Case {
  explicit Case(const Json& json) : state(TextOf(json["state"])) {
    const Json& given = json["question"];
    question.type = given["type"] == "noul"     ? DecisionType::kNoul
                    : given["type"] == "choice" ? DecisionType::kChoice
                                                : DecisionType::kScore;
    instructions = TextOf(given.value("instructions", Json()));
    const Json criteria = given.value("criteria", Json());
    if (question.type == DecisionType::kNoul) {
      const Json outcomes = criteria.is_null() ? Json::object() : criteria;
      texts = {{"", TextOf(outcomes.value("true", Json()))},
               {"", TextOf(outcomes.value("false", Json()))}};
    } else {
      for (const auto& [key, value] : criteria.items()) {
        texts.emplace_back(criteria.is_object() ? key : "", TextOf(value));
      }
    }
    for (const auto& [name, description] : texts) {
      options.push_back({name, description});
    }
    question.instructions = instructions;
    question.options = options;
  }
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;

  std::string state;
  std::string instructions;
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<DecisionOption> options;
  DecisionQuestion question;
};

std::vector<Json> Cases() {
  std::ifstream file(kGolden / "cases.jsonl");
  std::vector<Json> cases;
  for (std::string line; std::getline(file, line);) {
    cases.push_back(Json::parse(line));
  }
  return cases;
}

/// Without `blank_states`, cases whose state is empty or white space are left out.
void Check(const std::string& name, const std::string& tokenizer_name, bool blank_states = true) {
  const std::filesystem::path dir =
      std::filesystem::path(reference::kSharedDirectory) / "golden" / "tokenizers" / tokenizer_name;
  if (!std::filesystem::exists(dir)) {
    GTEST_SKIP() << "no reference data: " << dir;
  }
  const std::unique_ptr<Tokenizer> tokenizer = LoadTokenizer(dir, ControlTokensOfDecisions({}, {}));
  ASSERT_NE(tokenizer, nullptr);
  const proto::ModelConfig config = {.vocab_size = tokenizer->vocab_size()};
  const LoadedDecider loaded = LoadDecider(dir, name, config, tokenizer.get());
  ASSERT_NE(loaded.decider, nullptr);
  const Decider& decider = *loaded.decider;
  const std::vector<Json> cases = Cases();
  const std::vector<nlohmann::json> expected = ReadJsonLines(kGolden / (name + ".jsonl"));
  ASSERT_EQ(cases.size(), expected.size());
  ASSERT_GT(cases.size(), 50U);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(cases[i].dump());
    const Case one(cases[i]);
    if (one.state.empty() && !blank_states) {
      continue;
    }
    Ids ids = decider.Prefix(one.state, {}).value();
    const Ids rest = decider.Question(one.question, {}).value();
    ids.insert(ids.end(), rest.begin(), rest.end());
    EXPECT_EQ(ids, expected[i]["ids"].get<Ids>());
    EXPECT_EQ(decider.labels().Tokens(one.question.type, one.options.size()).ids(),
              expected[i]["labels"].get<Ids>());
  }
}

TEST(DecisionGolden, Qwen3) { Check("sglang-v1-qwen3", "qwen3"); }
TEST(DecisionGolden, Qwen25) { Check("sglang-v1-qwen25", "qwen3"); }
TEST(DecisionGolden, ChatMl) { Check("sglang-v1-chatml", "qwen3"); }
TEST(DecisionGolden, Llama3) { Check("sglang-v1-llama3", "llama3"); }
TEST(DecisionGolden, Llama31) { Check("sglang-v1-llama31", "llama3"); }
// Behind an empty state, which leaves "[INST] " before the question, SentencePiece joins the space
// and the question. The question's tokens would then depend on the state.
TEST(DecisionGolden, Llama2) {
  Check("sglang-v1-llama2", "llama2-sentencepiece", /*blank_states=*/false);
}

}  // namespace decision_golden_test
}  // namespace scorecast::coordinator
