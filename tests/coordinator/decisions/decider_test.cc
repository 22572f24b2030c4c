#include "coordinator/decisions/decider.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "tests/coordinator/fake_tokenizer.h"

namespace scorecast::coordinator {
namespace decider_test {

using ::testing::HasSubstr;
using Ids = std::vector<TokenId>;
using Options = std::vector<DecisionOption>;

constexpr TokenId kBos = 300;

const std::string kTemplate = R"(
state: "S:{state}\n\n"
noul: "{if instructions}Q: {instructions}\n{end}{options}Answer:"
choice: "{if instructions}Q: {instructions}\n{end}{options}Answer:"
score: "{options}Answer:"
option: "{label}: {name}{if description} - {description}{end}\n"
level: "{label}{index}: {description}\n"
outcome: "{label}: {description}\n"
labels.noul: [["yes","Y"],["no","N"]]
labels.choice: "A-Z"
labels.many: "AA-AD"
labels.score: ["0-9","a-j"]
)";

/// A tokenizer whose tokens are bytes, and some words.
const FakeTokenizer& TestTokenizer() {
  static const FakeTokenizer tokenizer{
      {{"AA", 257}, {"AC", 258}, {"yes", 259}, {"no", 260}, {"AD", 299}}, kBos};
  return tokenizer;
}

std::shared_ptr<const Decider> Make(const std::string& text, std::string& why_not,
                                    std::int64_t vocab_size = 310) {
  const DecisionTemplate from = ParseDecisionTemplate(text, "t", "t.txt");
  const proto::ModelConfig config = {.vocab_size = vocab_size};
  return Decider::Make(from, TestTokenizer(), config, "a test", why_not);
}

std::shared_ptr<const Decider> Make(const std::string& text = kTemplate) {
  std::string why_not;
  auto decider = Make(text, why_not);
  EXPECT_NE(decider, nullptr) << why_not;
  return decider;
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

std::string TextOf(const Decider& decider, const DecisionQuestion& question) {
  const Ids ids = decider.Question(question, {}).value();
  return TestTokenizer().Decode(ids);
}

TEST(Decider, TheStateBeginsThePrompt) {
  const Ids ids = Make()->Prefix("x", {}).value();
  EXPECT_EQ(ids.front(), kBos);
  EXPECT_THAT(TestTokenizer().Decode(ids), HasSubstr("S:x\n\n"));
}

TEST(Decider, AChoiceHasALineForEachOption) {
  const Options options = {{"red", "like fire"}, {"blue", ""}};
  DecisionQuestion question{
      .type = DecisionType::kChoice, .instructions = "Which?", .options = options};
  EXPECT_EQ(TextOf(*Make(), question), "Q: Which?\nA: red - like fire\nB: blue\nAnswer:");
  question.instructions = " \n\u00a0";
  EXPECT_EQ(TextOf(*Make(), question), "A: red - like fire\nB: blue\nAnswer:") << "blank";
  question.is_reversed = true;
  EXPECT_EQ(TextOf(*Make(), question), "A: blue\nB: red - like fire\nAnswer:");
}

TEST(Decider, ANoulHasLinesForDescribedOutcomes) {
  const Options outcomes = {{"", "now"}, {"", ""}};
  DecisionQuestion question{
      .type = DecisionType::kNoul, .instructions = "Urgent", .options = outcomes};
  EXPECT_EQ(TextOf(*Make(), question), "Q: Urgent\nyes: now\nAnswer:");
  const Options both = {{"", "now"}, {"", "later"}};
  question.options = both;
  question.is_reversed = true;
  EXPECT_EQ(TextOf(*Make(), question), "Q: Urgent\nno: later\nyes: now\nAnswer:")
      << "labels stay with their outcomes";
}

TEST(Decider, AScoreHasALineForEachLevel) {
  const Options levels = {{"", "calm"}, {"", "angry"}};
  EXPECT_EQ(TextOf(*Make(), {.type = DecisionType::kScore, .options = levels}),
            "00: calm\n11: angry\nAnswer:");
}

TEST(Decider, LabelsAreSingleTokens) {
  const auto decider = Make();
  const DecisionLabels& labels = decider->labels();
  EXPECT_EQ(labels.Tokens(DecisionType::kNoul, 2).ids(), (Ids{259, 'Y', 260, 'N'}));
  EXPECT_EQ(labels.Spellings(DecisionType::kNoul), (std::vector<std::size_t>{2, 2}));
  EXPECT_EQ(labels.Tokens(DecisionType::kChoice, 3).ids(), (Ids{'A', 'B', 'C'}));
  EXPECT_EQ(labels.Tokens(DecisionType::kScore, 2).ids(), (Ids{'0', '1'}));
  EXPECT_EQ(labels.Tokens(DecisionType::kChoice, 3).identity(),
            labels.Tokens(DecisionType::kChoice, 3).identity());
  EXPECT_EQ(labels.Most(DecisionType::kChoice), 26U) << "three pairs are too few";
}

TEST(Decider, WithManyOptionsAllLabelsArePairsThatAreSingleTokens) {
  // Every pair that begins with A, but AB, is a token.
  std::vector<std::pair<std::string, TokenId>> pairs;
  for (char first = 'A'; first <= 'B'; ++first) {
    for (char second = 'A'; second <= 'Z'; ++second) {
      if (first != 'A' || second != 'B') {
        pairs.emplace_back(std::string{first, second}, static_cast<TokenId>(300 + pairs.size()));
      }
    }
  }
  const FakeTokenizer tokenizer{pairs};
  std::string why_not;
  const auto decider =
      Decider::Make(ParseDecisionTemplate(Replaced(kTemplate, "AA-AD", "AA-BZ"), "t", "t"),
                    tokenizer, {.vocab_size = 400}, "", why_not);
  ASSERT_NE(decider, nullptr) << why_not;
  const DecisionLabels& labels = decider->labels();
  EXPECT_EQ(labels.Most(DecisionType::kChoice), 51U);
  EXPECT_EQ(labels.Texts(DecisionType::kChoice, 26)[1], "B");
  EXPECT_EQ(labels.Texts(DecisionType::kChoice, 27)[0], "AA");
  EXPECT_EQ(labels.Texts(DecisionType::kChoice, 27)[1], "AC") << "AB is no token";
  EXPECT_EQ(labels.Tokens(DecisionType::kChoice, 51).size(), 51U);
  const Options options(27);
  EXPECT_THAT(decider->PromptText("", {.type = DecisionType::kChoice, .options = options}),
              HasSubstr("AA: \nAC: \n"));
}

TEST(Decider, ATemplateWithoutUsableLabelsIsRefused) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {Replaced(kTemplate, "[\"yes\",\"Y\"]", "[\"maybe\"]"), "the label \"maybe\" of a noul"},
      {Replaced(kTemplate, "[\"no\",\"N\"]", "[\"Y\"]"), "the label \"Y\" of a noul"},
      {Replaced(kTemplate, "\"0-9\",\"a-j\"", "\"AA-AD\""), "the label \"AB\" of a score"},
      {Replaced(kTemplate, "\"A-Z\"", "\"AA-AD\""), "the label \"AB\" of a choice"},
      {"control: [\"<x>\"]\n" + kTemplate, "the vocabulary has no token \"<x>\""},
  };
  for (const auto& [text, expected] : faults) {
    std::string why_not;
    EXPECT_EQ(Make(text, why_not), nullptr);
    EXPECT_THAT(why_not, HasSubstr(expected));
  }
}

TEST(Decider, TheFirstAlphabetOfScoresThatIsUsableCounts) {
  const std::string text = Replaced(kTemplate, "\"0-9\",\"a-j\"", "\"AA-AD\",\"a-j\"");
  EXPECT_EQ(Make(text)->labels().Texts(DecisionType::kScore, 2)[0], "a");
  EXPECT_EQ(Make(text)->labels().Most(DecisionType::kScore), 10U);
}

TEST(Decider, ASpaceAtThePromptsEndIsTheLabels) {
  const FakeTokenizer tokenizer{[] {
    std::vector<std::pair<std::string, TokenId>> words = {{" yes", 257}, {" no", 258}};
    for (char letter = 'A'; letter <= 'Z'; ++letter) {
      words.emplace_back(std::string{' ', letter}, 259 + letter - 'A');
    }
    return words;
  }()};
  std::string why_not;
  const std::string text = Replaced(kTemplate, "[\"0-9\",\"a-j\"]", "\"A-J\"") + "end: \" \"\n";
  const auto decider = Decider::Make(ParseDecisionTemplate(text, "t", "t"), tokenizer,
                                     {.vocab_size = 300}, "", why_not);
  ASSERT_NE(decider, nullptr) << why_not;
  EXPECT_EQ(decider->labels().Tokens(DecisionType::kNoul, 2).ids(),
            (Ids{257, 259 + 'Y' - 'A', 258, 259 + 'N' - 'A'}));
  EXPECT_EQ(decider->labels().Tokens(DecisionType::kScore, 2).ids(), (Ids{259, 260}));
  const Options levels(2);
  const Ids ids = decider->Question({.type = DecisionType::kScore, .options = levels}, {}).value();
  EXPECT_EQ(ids.back(), ':');
}

TEST(Decider, JsonIsShownAsTheTemplateSays) {
  EXPECT_EQ(Make()->Rendered(R"({"a":[1,{}]})"), R"({"a":[1,{}]})");
  const auto indented = Make(kTemplate + "json: \"indent 2\"\n");
  EXPECT_EQ(indented->Rendered(R"({"a":[1,{"b":"x,{:\"]"}],"c":{},"d":[]})"),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x,{:\\\"]\"\n    }\n  ],\n"
            "  \"c\": {},\n  \"d\": []\n}");
}

TEST(Decider, TrimLeavesOutWhiteSpaceBeforeTheState) {
  const auto decider = Make("trim: true\n" + kTemplate);
  EXPECT_EQ(decider->Prefix(" \n x", {}).value(), Make()->Prefix("x", {}).value());
}

TEST(Decider, EncodingEndsAtALimit) {
  EXPECT_EQ(Make()->Prefix(std::string(100, 'x'), {.max_tokens = 50}).error(),
            EncodeFault::kTooManyTokens);
}

// Prompts of chat families as their templates spell them.
TEST(Decider, BuiltInPrompts) {
  const std::vector<std::pair<std::string, std::string>> prompts = {
      {"sglang-v1-gemma",
       "<bos><start_of_turn>user\nS\n\nIs the following true? Q\nAnswer with yes or no only."
       "<end_of_turn>\n<start_of_turn>model\n"},
      {"sglang-v1-mistral",
       "[INST] S\n\nIs the following true? Q\nAnswer with yes or no only. [/INST]"},
      {"sglang-v1-mistral-v3",
       "[INST] S\n\nIs the following true? Q\nAnswer with yes or no only.[/INST]"},
      {"sglang-v1-qwen2",
       "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n<|im_start|>user\nS\n\n"
       "Is the following true? Q\nAnswer with yes or no only.<|im_end|>\n<|im_start|>assistant\n"},
      {"anyjev",
       "<|im_start|>system\nYou are a decision function. You will be given a state and one "
       "question. Reply with the answer label only: no words, no punctuation, no explanation."
       "<|im_end|>\n<|im_start|>user\nState:\nS\n\nQuestion: Q\nAnswer Yes or No.<|im_end|>\n"
       "<|im_start|>assistant\n<think>\n\n</think>\n\n"},
      {"opendecider",
       "<|im_start|>system\nYou make one decision for a software system.<|im_end|>\n"
       "<|im_start|>user\nInput:\nS\n\nQuestion: Q\n\nOptions:\nA) yes\nB) no\n\nAnswer with the "
       "letter of the correct option only.<|im_end|>\n<|im_start|>assistant\n"},
      {"plain", "S\n\nIs the following true? Q\nAnswer with yes or no only.\nAnswer: "},
  };
  const FakeTokenizer tokenizer{{{" A", 400}, {" B", 401}}};
  const Options outcomes(2);
  for (const auto& [name, expected] : prompts) {
    SCOPED_TRACE(name);
    DecisionTemplate one =
        *std::ranges::find(BuiltInDecisionTemplates(), name, &DecisionTemplate::name);
    // This tokenizer has no others.
    one.control_tokens.clear();
    one.choice_labels = {"A"};
    one.score_labels = {{"A"}};
    one.noul_labels = {{{"A"}, {"B"}}};
    std::string why_not;
    const auto decider = Decider::Make(one, tokenizer, {.vocab_size = 500}, "", why_not);
    ASSERT_NE(decider, nullptr) << why_not;
    EXPECT_EQ(decider->PromptText(
                  "S", {.type = DecisionType::kNoul, .instructions = "Q", .options = outcomes}),
              expected);
  }
}

}  // namespace decider_test
}  // namespace scorecast::coordinator
