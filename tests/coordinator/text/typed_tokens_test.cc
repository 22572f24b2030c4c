// Pairs, token types and truncation against the output of the reference library.

#include "coordinator/text/typed_tokens.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/text/tokenizer_json.h"
#include "tests/coordinator/text/json_lines.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace typed_tokens_test {

using nlohmann::json;
using testing::ElementsAre;
using Ids = std::vector<TokenId>;
using Types = std::vector<std::uint8_t>;
using Strategy = Truncation::Strategy;
using Side = Truncation::Side;

const std::filesystem::path kOwn = std::filesystem::path(reference::kTestsDirectory) /
                                   "coordinator" / "text" / "data" / "encoders";
const std::filesystem::path kShared =
    std::filesystem::path(reference::kSharedDirectory) / "golden" / "encoders" / "tokenizers";

const std::map<std::string, Strategy> kStrategies = {{"longest_first", Strategy::kLongestFirst},
                                                     {"only_first", Strategy::kOnlyFirst},
                                                     {"only_second", Strategy::kOnlySecond}};

Truncation TruncationOf(const json& record) {
  if (!record.contains("max_length")) {
    return {};
  }
  return {.max_length = record["max_length"],
          .strategy = kStrategies.at(record["strategy"]),
          .side = record["direction"] == "left" ? Side::kLeft : Side::kRight};
}

struct Source {
  bool is_shared = false;
  std::string name;
};

void PrintTo(const Source& source, std::ostream* out) { *out << source.name; }

class Pairs : public testing::TestWithParam<Source> {};

TEST_P(Pairs, HaveTheReferencesIdsAndTypes) {
  const std::filesystem::path directory = (GetParam().is_shared ? kShared : kOwn) / GetParam().name;
  if (GetParam().is_shared && !std::filesystem::exists(directory)) {
    GTEST_SKIP() << "no reference data: " << directory;
  }
  const auto tokenizer = LoadTokenizer(directory);
  ASSERT_NE(tokenizer, nullptr);
  const std::vector<json> records = ReadJsonLines(directory / "pairs.jsonl");
  ASSERT_GE(records.size(), 90u);
  for (const json& record : records) {
    SCOPED_TRACE(record.dump());
    const auto pair =
        EncodeTyped(*tokenizer, record["a"].get<std::string>(), record["b"].get<std::string>(),
                    {.truncation = TruncationOf(record)});
    ASSERT_TRUE(pair.has_value());
    EXPECT_EQ(pair->ids, record["ids"].get<Ids>());
    EXPECT_EQ(pair->types, record["token_type_ids"].get<Types>());
  }
}

std::vector<Source> Sources(bool is_shared, const std::vector<std::string>& names) {
  std::vector<Source> sources;
  for (const std::string& name : names) {
    sources.push_back({is_shared, name});
  }
  return sources;
}

std::string NameOf(const testing::TestParamInfo<Source>& info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(
    Own, Pairs,
    testing::ValuesIn(Sources(false, {"modernbert", "roberta", "wordpiece-accents",
                                      "wordpiece-cased", "wordpiece-uncased", "wordpiece-vocab-txt",
                                      "xlm-roberta-converted"})),
    NameOf);
INSTANTIATE_TEST_SUITE_P(
    Shared, Pairs,
    testing::ValuesIn(Sources(true, {"gemma-bos-eos", "llama3-bos", "modernbert", "qwen3-embedding",
                                     "roberta", "wordpiece-cased", "wordpiece-accents",
                                     "wordpiece-uncased", "wordpiece-vocab-txt", "xlm-roberta",
                                     "xlm-roberta-converted"})),
    NameOf);

TEST(SingleText, HasTheTokensThatAreAddedAroundIt) {
  const auto tokenizer = LoadTokenizer(kOwn / "wordpiece-uncased");
  for (const json& record : ReadJsonLines(kOwn / "wordpiece-uncased" / "vectors.jsonl")) {
    const auto text = EncodeTyped(*tokenizer, record["text"].get<std::string>());
    EXPECT_EQ(text->ids, record["ids_special"].get<Ids>());
    EXPECT_EQ(text->types, Types(text->ids.size(), 0));
  }
}

/// Post-processors of a small tokenizer, and what the reference gives for "a" and for "b c" with
/// "a".
struct ProcessorCase {
  std::string name;
  json processor;
  Ids single;
  Types single_types;
  Ids pair;
  Types pair_types;
};

json TokenizerWith(const json& processor) {
  const json vocabulary = {{"[CLS]", 0u}, {"[SEP]", 1u}, {"a", 2u},   {"b", 3u},
                           {"c", 4u},     {"<s>", 5u},   {"</s>", 6u}};
  return {{"pre_tokenizer", {{"type", "WhitespaceSplit"}}},
          {"post_processor", processor},
          {"decoder", {{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}}},
          {"model",
           {{"type", "WordPiece"},
            {"unk_token", "a"},
            {"continuing_subword_prefix", "##"},
            {"max_input_chars_per_word", 100},
            {"vocab", vocabulary}}}};
}

std::unique_ptr<Tokenizer> Small(const json& processor) {
  return ReadTokenizerJson(TokenizerWith(processor), {}, "tokenizer.json");
}

json Token(const std::string& name, int type = 0) {
  return {{"SpecialToken", {{"id", name}, {"type_id", type}}}};
}

json Text(const std::string& name, int type = 0) {
  return {{"Sequence", {{"id", name}, {"type_id", type}}}};
}

json Template(const std::vector<json>& single, const std::vector<json>& pair) {
  return {{"type", "TemplateProcessing"},
          {"single", single},
          {"pair", pair},
          {"special_tokens",
           {{"[CLS]", {{"ids", json::array({0})}}}, {"[SEP]", {{"ids", json::array({1})}}}}}};
}

json InSequence(const std::vector<json>& processors) {
  return {{"type", "Sequence"}, {"processors", processors}};
}

const json kByteLevel = {{"type", "ByteLevel"}, {"trim_offsets", false}};
const json kBert = {{"type", "BertProcessing"}, {"sep", {"[SEP]", 1}}, {"cls", {"[CLS]", 0}}};
const json kRoberta = {{"type", "RobertaProcessing"},
                       {"sep", {"</s>", 6}},
                       {"cls", {"<s>", 5}},
                       {"trim_offsets", true},
                       {"add_prefix_space", true}};
const json kStandard =
    Template({Token("[CLS]"), Text("A"), Token("[SEP]")},
             {Token("[CLS]"), Text("A"), Token("[SEP]"), Text("B", 1), Token("[SEP]", 1)});

TEST(PostProcessor, AddsWhatTheReferenceAdds) {
  const json swapped =
      Template({Text("A", 2), Token("[SEP]", 3)}, {Text("B", 4), Token("[SEP]", 1), Text("A", 0)});
  const json plain = Template({Text("A", 1)}, {Text("A"), Text("B", 1)});
  const std::vector<ProcessorCase> cases = {
      {"none", nullptr, {2}, {0}, {3, 4, 2}, {0, 0, 1}},
      {"bytes", kByteLevel, {2}, {0}, {3, 4, 2}, {0, 0, 1}},
      {"bert", kBert, {0, 2, 1}, {0, 0, 0}, {0, 3, 4, 1, 2, 1}, {0, 0, 0, 0, 1, 1}},
      {"roberta", kRoberta, {5, 2, 6}, {0, 0, 0}, {5, 3, 4, 6, 6, 2, 6}, {0, 0, 0, 0, 0, 0, 0}},
      {"swapped", swapped, {2, 1}, {2, 3}, {2, 1, 3, 4}, {4, 1, 0, 0}},
      {"bytes first",
       InSequence({kByteLevel, kStandard}),
       {0, 2, 1},
       {0, 0, 0},
       {0, 3, 4, 1, 2, 1},
       {0, 0, 0, 0, 1, 1}},
      {"bert, roberta",
       InSequence({kBert, kRoberta}),
       {5, 0, 2, 1, 6},
       {0, 0, 0, 0, 0},
       {5, 0, 3, 4, 1, 6, 6, 2, 1, 6},
       {0, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {"roberta, bert",
       InSequence({kRoberta, kBert}),
       {0, 5, 2, 6, 1},
       {0, 0, 0, 0, 0},
       {0, 5, 3, 4, 6, 1, 6, 2, 6, 1},
       {0, 0, 0, 0, 0, 0, 0, 0, 0, 1}},
      {"template, bert",
       InSequence({kStandard, kBert}),
       {0, 0, 1, 2, 1, 1, 1},
       {0, 0, 0, 0, 1, 0, 1},
       {0, 0, 1, 3, 4, 1, 1, 1, 2, 1, 1, 1},
       {0, 0, 0, 0, 0, 1, 0, 1, 1, 1, 1, 1}},
      {"bert, template",
       InSequence({kBert, kStandard}),
       {0, 0, 2, 1, 1},
       {0, 0, 0, 0, 0},
       {0, 0, 3, 4, 1, 1, 2, 1, 1},
       {0, 0, 0, 0, 0, 0, 1, 1, 1}},
      {"two templates",
       InSequence({plain, kStandard}),
       {0, 2, 1},
       {0, 0, 0},
       {0, 3, 4, 1, 2, 1},
       {0, 0, 0, 0, 1, 1}},
  };
  for (const ProcessorCase& test : cases) {
    SCOPED_TRACE(test.name);
    const auto tokenizer = Small(test.processor);
    const auto single = EncodeTyped(*tokenizer, "a");
    EXPECT_EQ(single->ids, test.single);
    EXPECT_EQ(single->types, test.single_types);
    const auto pair = EncodeTyped(*tokenizer, "b c", "a");
    EXPECT_EQ(pair->ids, test.pair);
    EXPECT_EQ(pair->types, test.pair_types);
  }
}

/// How many tokens are left of two texts, as `tokenizers` cuts them; nullopt if it refuses.
using Lengths = std::optional<std::pair<int, int>>;

struct CutCase {
  int first = 0;
  int second = 0;
  int room = 0;
  Lengths longest_first;
  Lengths only_first;
  Lengths only_second;
};

Lengths CutLengths(const CutCase& test, Strategy strategy, Side side) {
  Ids first;
  Ids second;
  for (int i = 0; i < test.first; ++i) {
    first.push_back(100 + i);
  }
  for (int i = 0; i < test.second; ++i) {
    second.push_back(200 + i);
  }
  const auto cut = ApplyTemplate({}, first, second,
                                 {.max_length = test.room, .strategy = strategy, .side = side});
  if (!cut.has_value()) {
    EXPECT_EQ(cut.error().kind, TypedFault::Kind::kNoRoom);
    EXPECT_GT(cut.error().length, test.room);
    return std::nullopt;
  }
  const auto boundary = std::ranges::find_if(cut->ids, [](TokenId id) { return id >= 200; });
  const Ids first_left(cut->ids.begin(), boundary);
  const Ids second_left(boundary, cut->ids.end());
  const auto is_end_of = [&](const Ids& left, const Ids& whole) {
    return side == Side::kRight ? std::equal(left.begin(), left.end(), whole.begin())
                                : std::equal(left.rbegin(), left.rend(), whole.rbegin());
  };
  EXPECT_TRUE(is_end_of(first_left, first));
  EXPECT_TRUE(is_end_of(second_left, second));
  return std::pair(static_cast<int>(first_left.size()), static_cast<int>(second_left.size()));
}

TEST(Truncation, LeavesWhatTheReferenceLeaves) {
  using P = std::pair<int, int>;
  const Lengths none;
  const std::vector<CutCase> cases = {
      {2, 2, 3, P(1, 2), P(1, 2), P(2, 1)},  {2, 2, 4, P(2, 2), P(2, 2), P(2, 2)},
      {3, 3, 5, P(2, 3), P(2, 3), P(3, 2)},  {1, 7, 4, P(1, 3), none, P(1, 3)},
      {1, 7, 5, P(1, 4), none, P(1, 4)},     {7, 1, 4, P(3, 1), P(3, 1), none},
      {2, 7, 4, P(2, 2), none, P(2, 2)},     {2, 7, 5, P(2, 3), none, P(2, 3)},
      {3, 7, 5, P(2, 3), none, P(3, 2)},     {7, 3, 5, P(3, 2), P(2, 3), none},
      {7, 3, 6, P(3, 3), P(3, 3), none},     {3, 7, 6, P(3, 3), none, P(3, 3)},
      {3, 7, 7, P(3, 4), none, P(3, 4)},     {7, 7, 1, P(0, 1), none, none},
      {7, 7, 13, P(6, 7), P(6, 7), P(7, 6)}, {5, 6, 4, P(2, 2), none, none},
      {6, 5, 4, P(2, 2), none, none},        {0, 7, 3, P(0, 3), none, P(0, 3)},
      {7, 0, 3, P(3, 0), P(3, 0), none},     {4, 4, 1, P(0, 1), none, none},
      {4, 2, 5, P(3, 2), P(3, 2), P(4, 1)},  {2, 4, 5, P(2, 3), P(1, 4), P(2, 3)},
      {0, 0, 1, P(0, 0), P(0, 0), P(0, 0)},  {6, 7, 12, P(6, 6), P(5, 7), P(6, 6)},
      {7, 6, 12, P(6, 6), P(6, 6), P(7, 5)}, {3, 4, 3, P(1, 2), none, none},
      {4, 3, 3, P(2, 1), none, none},
  };
  for (const CutCase& test : cases) {
    SCOPED_TRACE(testing::Message() << test.first << " and " << test.second << " in " << test.room);
    for (const Side side : {Side::kRight, Side::kLeft}) {
      EXPECT_EQ(CutLengths(test, Strategy::kLongestFirst, side), test.longest_first);
      EXPECT_EQ(CutLengths(test, Strategy::kOnlyFirst, side), test.only_first);
      EXPECT_EQ(CutLengths(test, Strategy::kOnlySecond, side), test.only_second);
    }
  }
}

TEST(Truncation, CountsTheTokensOfTheTemplate) {
  const auto tokenizer = Small(kStandard);
  const auto pair = [&](std::int64_t max_length, Strategy strategy) {
    return EncodeTyped(*tokenizer, "b b b", "c c c c",
                       {.truncation = {.max_length = max_length, .strategy = strategy}});
  };
  EXPECT_THAT(pair(10, Strategy::kNone)->ids, ElementsAre(0, 3, 3, 3, 1, 4, 4, 4, 4, 1));
  EXPECT_THAT(pair(8, Strategy::kLongestFirst)->ids, ElementsAre(0, 3, 3, 1, 4, 4, 4, 1));
  EXPECT_THAT(pair(8, Strategy::kOnlySecond)->ids, ElementsAre(0, 3, 3, 3, 1, 4, 4, 1));
  EXPECT_THAT(pair(3, Strategy::kOnlySecond)->ids, ElementsAre(0, 1, 1));
  const auto fault = [&](std::int64_t max_length, Strategy strategy) {
    const auto refused = pair(max_length, strategy);
    EXPECT_FALSE(refused.has_value());
    return refused.has_value() ? TypedFault() : refused.error();
  };
  EXPECT_EQ(fault(9, Strategy::kNone).kind, TypedFault::Kind::kTooLong);
  EXPECT_EQ(fault(9, Strategy::kNone).Message(), "10 tokens > 9");
  EXPECT_EQ(fault(6, Strategy::kOnlySecond).kind, TypedFault::Kind::kNoRoom);
  EXPECT_EQ(fault(6, Strategy::kOnlySecond).Message(), "7 tokens > 6");
  EXPECT_EQ(fault(2, Strategy::kLongestFirst).Message(), "3 tokens > 2");
}

TEST(Truncation, OfASingleText) {
  const auto tokenizer = Small(kStandard);
  const auto text = [&](Strategy strategy, Side side) {
    return EncodeTyped(*tokenizer, "a b c",
                       {.truncation = {.max_length = 4, .strategy = strategy, .side = side}});
  };
  EXPECT_THAT(text(Strategy::kLongestFirst, Side::kRight)->ids, ElementsAre(0, 2, 3, 1));
  EXPECT_THAT(text(Strategy::kOnlyFirst, Side::kLeft)->ids, ElementsAre(0, 3, 4, 1));
  EXPECT_FALSE(text(Strategy::kOnlySecond, Side::kRight).has_value());
}

// What is cut off at the right need not be encoded, and changes nothing.
TEST(Truncation, OfALongTextReadsItsBeginningOnly) {
  for (const std::string name : {"wordpiece-uncased", "roberta", "xlm-roberta-converted"}) {
    const auto tokenizer = LoadTokenizer(kOwn / name);
    std::string text;
    for (int i = 0; i < 30'000; ++i) {
      text += "The harbour was calm " + std::to_string(i) + " times. ";
    }
    const Ids first = tokenizer->Encode(text);
    for (const std::int64_t max_length : {8, 512, 3000}) {
      const Truncation cut = {.max_length = max_length, .strategy = Strategy::kLongestFirst};
      const auto whole = ApplyTemplate(tokenizer->token_template(), first, first, cut);
      const auto pair = EncodeTyped(*tokenizer, text, text, {.truncation = cut});
      EXPECT_EQ(pair->ids, whole->ids);
      EXPECT_EQ(pair->types, whole->types);
    }
    const auto encoded = tokenizer->EncodeWithin({.enough_tokens = 100}, text);
    EXPECT_GE(encoded->ids.size(), 100u);
    EXPECT_LE(encoded->ids.size(), 10'000u);
  }
}

TEST(Prompt, IsEncodedWithTheTextAndItsRowsAreKnown) {
  const auto tokenizer = Small(kStandard);
  const TextPrompt small = TextPrompt::Make(*tokenizer, "b b ").value();
  const auto text = EncodeTyped(*tokenizer, "c a", {.prompt = &small});
  EXPECT_THAT(text->ids, ElementsAre(0, 3, 3, 4, 2, 1));
  EXPECT_EQ(EncodeTyped(*tokenizer, "c a")->first_row_after_prompt, 0);
  // None of the tokens is special, so the separator behind the prompt counts.
  EXPECT_EQ(text->first_row_after_prompt, 4);
  const auto real = LoadTokenizer(kOwn / "wordpiece-uncased");
  const TextPrompt one = TextPrompt::Make(*real, "the ").value();
  EXPECT_EQ(EncodeTyped(*real, "harbour", {.prompt = &one})->first_row_after_prompt,
            static_cast<std::int64_t>(real->Encode("the ").size()) + 1);
  const TextPrompt long_prompt = TextPrompt::Make(*real, "the the the the the ").value();
  const auto cut =
      EncodeTyped(*real, "harbour",
                  {.prompt = &long_prompt,
                   .truncation = {.max_length = 4, .strategy = Strategy::kLongestFirst}});
  EXPECT_EQ(cut->first_row_after_prompt, 3);
}

// A prompt is tokenized once, and yet the tokens are those of one text.
TEST(Prompt, AndATextHaveTheTokensOfOneText) {
  for (const auto& entry : std::filesystem::directory_iterator(kOwn)) {
    if (!entry.is_directory()) {
      continue;
    }
    SCOPED_TRACE(entry.path().filename());
    const auto tokenizer = LoadTokenizer(entry.path());
    for (const std::string prompt : {"the ", "the", "query: the harbour of", "a\n\n", " ", "12"}) {
      const TextPrompt made = TextPrompt::Make(*tokenizer, prompt).value();
      for (const std::string text : {"harbour", " harbour", "s and ships", "", "3", "\nlight"}) {
        const Ids whole = tokenizer->Encode(prompt + text);
        EXPECT_EQ(made.With(text, {}).value(), whole) << prompt << "|" << text;
        const Ids enough = made.With(text, {.enough_tokens = 2}).value();
        ASSERT_GE(enough.size(), std::min<std::size_t>(whole.size(), 2));
        EXPECT_TRUE(std::equal(enough.begin(), enough.end(), whole.begin())) << prompt << text;
      }
    }
  }
}

TEST(Texts, MayHaveNoneOfTheTokenizersTokens) {
  const auto tokenizer = Small(kStandard);
  const TypedOptions bare = {.adds_tokens = false};
  const auto text = EncodeTyped(*tokenizer, "a b", bare);
  EXPECT_EQ(text->ids, tokenizer->Encode("a b"));
  const auto whole = EncodeTyped(*tokenizer, "a", "b b");
  const auto pair = EncodeTyped(*tokenizer, "a", "b b", bare);
  Ids joined = tokenizer->Encode("a");
  for (const TokenId id : tokenizer->Encode("b b")) {
    joined.push_back(id);
  }
  EXPECT_EQ(pair->ids, joined);
  EXPECT_LT(pair->ids.size(), whole->ids.size());
  EXPECT_EQ(pair->types.front(), whole->types.front());
  EXPECT_EQ(pair->types.back(), whole->types.back());
  // The room of the tokens is the texts'.
  const auto cut = EncodeTyped(
      *tokenizer, "a b c",
      {.truncation = {.max_length = 2, .strategy = Strategy::kLongestFirst}, .adds_tokens = false});
  EXPECT_EQ(cut->ids, tokenizer->Encode("a b"));
  const TextPrompt prompt =
      TextPrompt::Make(*tokenizer, "b b ", SpecialTokensInText::kAllow, {}, /*adds_tokens=*/false)
          .value();
  const auto prompted = EncodeTyped(*tokenizer, "c", {.prompt = &prompt, .adds_tokens = false});
  EXPECT_EQ(prompted->ids, tokenizer->Encode("b b c"));
  EXPECT_EQ(prompted->first_row_after_prompt, 2);
}

TEST(Texts, ThatCannotBeEncodedAreNamed) {
  const auto tokenizer = Small(kStandard);
  const auto pair = EncodeTyped(*tokenizer, "a", "b b b", {.limits = {.max_tokens = 2}});
  ASSERT_FALSE(pair.has_value());
  EXPECT_EQ(pair.error().kind, TypedFault::Kind::kEncode);
  EXPECT_EQ(pair.error().encode, EncodeFault::kTooManyTokens);
  EXPECT_EQ(pair.error().text, 1);
}

}  // namespace typed_tokens_test
}  // namespace scorecast::coordinator
