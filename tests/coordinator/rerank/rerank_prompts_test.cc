// Prompts have the tokens of the whole string, for every kind of tokenizer; long documents are cut,
// and what follows them never is.

#include "coordinator/rerank/rerank_prompts.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/rerank/rerank_template.h"
#include "tests/coordinator/text/loaded_tokenizer.h"
#include "tests/coordinator/text/tokenizer_texts.h"
#include "tests/cpu_time.h"
#include "tests/reference/directories.h"
#include "tests/rounds.h"

namespace scorecast::coordinator {
namespace rerank_prompts_test {

using Ids = std::vector<TokenId>;

Ids Joined(const Ids& a, const Ids& b) {
  Ids ids = a;
  ids.insert(ids.end(), b.begin(), b.end());
  return ids;
}

Reranker MakeReranker(const std::string& prompt, const Tokenizer& tokenizer) {
  const RerankTemplate parsed = ParseRerankTemplate(
      "prompt: " + nlohmann::json(prompt).dump() + "\ntrue: 0\nscore: true\n", "t", "t");
  std::string why_not;
  std::optional<TemplateTokens> tokens = TemplateTokens::Make(parsed, tokenizer, why_not);
  EXPECT_TRUE(tokens) << why_not;
  return Reranker({.name = "t", .prompt = *std::move(tokens), .labels = {0}});
}

Ids Whole(const ItemPrompts& prompts, const Continuation& prompt) {
  return Joined(prompt.is_whole ? Ids() : prompts.prefix(), Joined(prompt.head, prompt.ids));
}

Ids FromStart(const Tokenizer& tokenizer, std::string_view text, SpecialTokensInText special) {
  return Joined(tokenizer.bos() ? Ids{*tokenizer.bos()} : Ids(),
                tokenizer.Encode(text, {.special_tokens = special}));
}

class Prompts : public testing::TestWithParam<TokenizerDirectory> {
 protected:
  void SetUp() override {
    tokenizer_ = LoadedTokenizer(GetParam().path);
    ASSERT_NE(tokenizer_, nullptr);
  }

  const Tokenizer* tokenizer_ = nullptr;
};

TEST_P(Prompts, TokensAreThoseOfTheWholeString) {
  const Reranker query_first = MakeReranker(
      "{if instruction}{instruction}: {end}Q {query}\nD: {document}\nAnswer:", *tokenizer_);
  const Reranker document_first = MakeReranker(
      "Check.\n<D> {document}\n<Q> {query}{if instruction} {instruction}{end} ??", *tokenizer_);
  Texts texts(*tokenizer_);
  for (int i = 0; i < Rounds(60); ++i) {
    const std::string query = texts.Next(6);
    const std::string instruction = texts.Below(2) == 0 ? "" : texts.Next(4);
    const ItemPrompts first = RerankPrompts(query_first, query, instruction).value();
    const ItemPrompts second = RerankPrompts(document_first, query, instruction).value();
    const ItemPrompts other = RerankPrompts(document_first, "x", "").value();
    EXPECT_EQ(second.prefix(), other.prefix());
    for (int j = 0; j < 12; ++j) {
      const std::string document = texts.Next(8);
      SCOPED_TRACE(testing::PrintToString(query) + " " + testing::PrintToString(instruction) + " " +
                   testing::PrintToString(document));
      const std::string lead = instruction.empty() ? "" : instruction + ": ";
      ASSERT_EQ(Whole(first, first.Item(document).value()),
                FromStart(*tokenizer_, lead + "Q " + query + "\nD: " + document + "\nAnswer:",
                          SpecialTokensInText::kEscape));
      const Continuation prompt = second.Item(document).value();
      const std::string tail = instruction.empty() ? "" : " " + instruction;
      ASSERT_EQ(Whole(second, prompt),
                FromStart(*tokenizer_, "Check.\n<D> " + document + "\n<Q> " + query + tail + " ??",
                          SpecialTokensInText::kEscape));
      const Continuation of_other = other.Item(document).value();
      ASSERT_EQ(prompt.head, of_other.head) << "a document's tokens depend on the query";
    }
  }
}

// The text behind a control token gets what the tokenizer puts there.
TEST_P(Prompts, TextBetweenControlTokensIsThatOfTheWholeString) {
  std::string control;
  for (const SpecialToken& token : tokenizer_->special_tokens()) {
    const Ids ids = tokenizer_->Encode("a" + token.text + "b");
    if (!token.takes_neighbours() && token.text.starts_with("<|") &&
        std::find(ids.begin(), ids.end(), token.id) != ids.end()) {
      control = token.text;
    }
  }
  if (control.empty()) {
    return;
  }
  const std::string head = "Q" + control;
  const Reranker reranker =
      MakeReranker(head + "{query}" + control + "{document}" + control + "\n", *tokenizer_);
  for (const std::string query : {"the harbour", " the", "\n", "a."}) {
    const ItemPrompts prompts = RerankPrompts(reranker, query, std::nullopt).value();
    for (const std::string document : {"a", " a", "the sea.", "海", "\n\n", "  x  ", "1,000"}) {
      ASSERT_EQ(Whole(prompts, prompts.Item(document).value()),
                FromStart(*tokenizer_, head + query + control + document + control + "\n",
                          SpecialTokensInText::kAllow))
          << control << testing::PrintToString(query) << testing::PrintToString(document);
    }
  }
}

TEST_P(Prompts, CutDocumentsKeepWhatFollows) {
  for (const bool document_first : {false, true}) {
    const Reranker reranker = MakeReranker(
        document_first ? "D: {document}\nQ: {query} ??" : "Q: {query}\nD: {document}\nA:",
        *tokenizer_);
    const ItemPrompts prompts = RerankPrompts(reranker, "the sea", std::nullopt).value();
    Texts texts(*tokenizer_);
    for (int i = 0; i < Rounds(40); ++i) {
      const std::string document = texts.Next(60);
      const Ids whole = Whole(prompts, prompts.Item(document).value());
      const auto most = static_cast<std::int64_t>(texts.Below(20));
      SCOPED_TRACE(testing::PrintToString(document) + std::to_string(most));
      const auto none = prompts.Item(document, {.max_item_tokens = most, .cut = std::nullopt});
      for (const auto cut : {Truncation::Side::kRight, Truncation::Side::kLeft}) {
        const Ids kept =
            Whole(prompts, prompts.Item(document, {.max_item_tokens = most, .cut = cut}).value());
        const Ids nothing =
            Whole(prompts, prompts.Item("a a", {.max_item_tokens = 0, .cut = cut}).value());
        if (none) {
          EXPECT_EQ(kept, whole) << "not cut";
          // What follows may merge with the document differently.
          EXPECT_LE(std::ssize(kept), std::ssize(nothing) + most + 2);
        } else {
          EXPECT_EQ(std::ssize(kept), std::ssize(nothing) + most);
        }
      }
      // The limit of the whole prompt.
      for (const std::int64_t less : {0, 1, 3}) {
        const std::int64_t limit = static_cast<std::int64_t>(whole.size()) - less;
        const auto prompt = prompts.Item(document, {.max_prompt_tokens = limit});
        if (prompt) {
          EXPECT_LE(static_cast<std::int64_t>(Whole(prompts, *prompt).size()), limit);
        } else {
          EXPECT_EQ(prompt.error(), EncodeFault::kTooManyTokens);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Prompts, testing::ValuesIn(TokenizerDirectories()), NameOfTokenizer);

const std::filesystem::path kChat =
    std::filesystem::path(reference::kTestsDirectory) / "golden" / "rerank" / "chat";

class ChatPrompts : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> tokenizer_ =
      LoadTokenizer(kChat, ControlTokensOfTemplates("qwen3-reranker"));
  proto::ModelConfig config_ = {.vocab_size = tokenizer_->vocab_size()};
  std::shared_ptr<const Reranker> reranker_ =
      LoadReranker(kChat, "qwen3-reranker", config_, tokenizer_.get(), {}).reranker;
  ItemPrompts prompts_ = RerankPrompts(*reranker_, "when is it open", std::nullopt).value();
};

TEST_F(ChatPrompts, ACutAtTheEndKeepsTheFirstTokens) {
  const std::string document = "the harbour is open and every boat has a light on its mast";
  const Continuation uncut = prompts_.Item(document).value();
  const Continuation empty = prompts_.Item("").value();
  const auto suffix = static_cast<std::ptrdiff_t>(empty.ids.size());
  const std::int64_t tokens = std::ssize(uncut.ids) - suffix;
  ASSERT_GT(tokens, 2);
  for (std::int64_t most = 1; most < tokens; ++most) {
    const Continuation cut = prompts_.Item(document, {.max_item_tokens = most}).value();
    const auto kept = static_cast<std::ptrdiff_t>(cut.ids.size()) - suffix;
    EXPECT_TRUE(std::equal(cut.ids.begin(), cut.ids.begin() + kept, uncut.ids.begin()));
    EXPECT_EQ(Ids(cut.ids.end() - 9, cut.ids.end()), Ids(empty.ids.end() - 9, empty.ids.end()));
  }
}

TEST_F(ChatPrompts, ACutAtTheStartKeepsTheLastTokens) {
  const std::string document = "the harbour is open and every boat has a light on its mast";
  const Continuation uncut = prompts_.Item(document).value();
  const Continuation cut =
      prompts_.Item(document, {.max_item_tokens = 4, .cut = Truncation::Side::kLeft}).value();
  EXPECT_EQ(Ids(cut.ids.end() - 13, cut.ids.end()), Ids(uncut.ids.end() - 13, uncut.ids.end()));
}

TEST_F(ChatPrompts, ThePartsThatAreNotTheDocumentMustFit) {
  const auto least = static_cast<std::int64_t>(Whole(prompts_, prompts_.Item("").value()).size());
  EXPECT_TRUE(prompts_.Item("a b c", {.max_prompt_tokens = least}));
  EXPECT_EQ(prompts_.Item("a", {.max_prompt_tokens = least - 1}).error(),
            EncodeFault::kTooManyTokens);
  EXPECT_TRUE(RerankPrompts(*reranker_, "when is it open", std::nullopt, {.max_tokens = least}));
  EXPECT_EQ(
      RerankPrompts(*reranker_, "when is it open", std::nullopt, {.max_tokens = least - 1}).error(),
      EncodeFault::kTooManyTokens);
}

TEST_F(ChatPrompts, AnEmptyInstructionIsTheDefault) {
  const ItemPrompts empty = RerankPrompts(*reranker_, "when is it open", "").value();
  EXPECT_EQ(empty.prefix(), prompts_.prefix());
  const ItemPrompts other = RerankPrompts(*reranker_, "when is it open", "Find").value();
  EXPECT_NE(other.prefix(), prompts_.prefix());
}

TEST_F(ChatPrompts, HugeDocumentsCostTheirLimit) {
  std::string huge;
  while (huge.size() < (std::size_t{15} << 20)) {
    huge += "the harbour is open and every boat has a light. ";
  }
  for (const auto cut : {Truncation::Side::kRight, Truncation::Side::kLeft}) {
    const double begin = ThreadCpuSeconds();
    const Continuation prompt = prompts_.Item(huge, {.max_item_tokens = 500, .cut = cut}).value();
    const Continuation nothing = prompts_.Item(huge, {.max_item_tokens = 0, .cut = cut}).value();
    EXPECT_EQ(prompt.ids.size(), nothing.ids.size() + 500);
    EXPECT_LT(ThreadCpuSeconds() - begin, 1);
  }
  EXPECT_EQ(prompts_.Item(huge, {.max_item_tokens = 500, .cut = std::nullopt}).error(),
            EncodeFault::kTooManyTokens);
}

TEST_F(ChatPrompts, ALongQueryIsTokenizedOnce) {
  std::string query;
  while (query.size() < (std::size_t{512} << 10)) {
    query += "is the harbour open when every boat has a light? ";
  }
  for (const char* prompt : {"D: {document}\nQ: {query} ??", "Q: {query}\nD: {document}\nA:"}) {
    const Reranker reranker = MakeReranker(prompt, *tokenizer_);
    const double begin = ThreadCpuSeconds();
    const ItemPrompts prompts = RerankPrompts(reranker, query, std::nullopt).value();
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(prompts.Item("boat " + std::to_string(i)));
    }
    EXPECT_LT(ThreadCpuSeconds() - begin, 3);
  }
}

TEST_F(ChatPrompts, StopsEarly) {
  const std::atomic<bool> stop = true;
  const Interruption interruption(stop);
  EXPECT_EQ(prompts_.Item("a", {.interruption = &interruption}).error(), EncodeFault::kStopped);
}

}  // namespace rerank_prompts_test
}  // namespace scorecast::coordinator
