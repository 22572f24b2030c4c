// Prompts have the tokens of the whole string, for every kind of tokenizer; long documents are cut,
// and what follows them never is.

#include "coordinator/rerank/rerank_prompts.h"

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/rerank/rerank_template.h"
#include "tests/coordinator/text/tokenizer_texts.h"
#include "tests/cpu_time.h"

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

Ids Whole(const RerankPrompts& prompts, const RerankPrompts::Prompt& prompt) {
  return Joined(prompt.include_prefix ? Ids() : prompts.prefix(),
                Joined(prompt.document, prompt.rest));
}

Ids FromStart(const Tokenizer& tokenizer, std::string_view text, SpecialTokensInText special) {
  return Joined(tokenizer.bos() ? Ids{*tokenizer.bos()} : Ids(),
                tokenizer.Encode(text, {.special_tokens = special}));
}

class Prompts : public testing::TestWithParam<TokenizerDirectory> {
 protected:
  void SetUp() override {
    tokenizer_ = LoadTokenizer(GetParam().path);
    ASSERT_NE(tokenizer_, nullptr);
  }

  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(Prompts, TokensAreThoseOfTheWholeString) {
  const Reranker query_first = MakeReranker(
      "{if instruction}{instruction}: {end}Q {query}\nD: {document}\nAnswer:", *tokenizer_);
  const Reranker document_first = MakeReranker(
      "Check.\n<D> {document}\n<Q> {query}{if instruction} {instruction}{end} ??", *tokenizer_);
  Texts texts(*tokenizer_);
  for (int i = 0; i < 60; ++i) {
    const std::string query = texts.Next(6);
    const std::string instruction = texts.Below(2) == 0 ? "" : texts.Next(4);
    const RerankPrompts first = RerankPrompts::Make(query_first, query, instruction).value();
    const RerankPrompts second = RerankPrompts::Make(document_first, query, instruction).value();
    const RerankPrompts other = RerankPrompts::Make(document_first, "x", "").value();
    EXPECT_EQ(second.prefix(), other.prefix());
    for (int j = 0; j < 12; ++j) {
      const std::string document = texts.Next(8);
      SCOPED_TRACE(testing::PrintToString(query) + " " + testing::PrintToString(instruction) + " " +
                   testing::PrintToString(document));
      const std::string lead = instruction.empty() ? "" : instruction + ": ";
      ASSERT_EQ(Whole(first, first.Document(document).value()),
                FromStart(*tokenizer_, lead + "Q " + query + "\nD: " + document + "\nAnswer:",
                          SpecialTokensInText::kEscape));
      const RerankPrompts::Prompt prompt = second.Document(document).value();
      const std::string tail = instruction.empty() ? "" : " " + instruction;
      ASSERT_EQ(Whole(second, prompt),
                FromStart(*tokenizer_, "Check.\n<D> " + document + "\n<Q> " + query + tail + " ??",
                          SpecialTokensInText::kEscape));
      const RerankPrompts::Prompt of_other = other.Document(document).value();
      ASSERT_EQ(prompt.document, of_other.document) << "a document's tokens depend on the query";
    }
  }
}

// The text behind a control token gets what the tokenizer puts there.
TEST_P(Prompts, TextBetweenControlTokensIsThatOfTheWholeString) {
  std::string control;
  for (const SpecialToken& token : tokenizer_->special_tokens()) {
    const Ids ids = tokenizer_->Encode("a" + token.text + "b");
    if (!token.takes_neighbours && token.text.starts_with("<|") &&
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
    const RerankPrompts prompts = RerankPrompts::Make(reranker, query, std::nullopt).value();
    for (const std::string document : {"a", " a", "the sea.", "海", "\n\n", "  x  ", "1,000"}) {
      ASSERT_EQ(Whole(prompts, prompts.Document(document).value()),
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
    const RerankPrompts prompts = RerankPrompts::Make(reranker, "the sea", std::nullopt).value();
    Texts texts(*tokenizer_);
    for (int i = 0; i < 40; ++i) {
      const std::string document = texts.Next(60);
      const RerankPrompts::Prompt uncut = prompts.Document(document).value();
      const Ids whole = Whole(prompts, uncut);
      const auto most = static_cast<std::int64_t>(texts.Below(20));
      SCOPED_TRACE(testing::PrintToString(document) + std::to_string(most));
      for (const auto cut : {DocumentLimits::Cut::kEnd, DocumentLimits::Cut::kStart}) {
        const RerankPrompts::Prompt prompt =
            prompts.Document(document, {.max_document_tokens = most, .cut = cut}).value();
        EXPECT_EQ(prompt.is_cut, uncut.document_tokens > most);
        EXPECT_EQ(prompt.document_tokens, std::min(most, uncut.document_tokens));
        if (!prompt.is_cut) {
          EXPECT_EQ(Whole(prompts, prompt), whole);
          continue;
        }
        const Ids nothing =
            Whole(prompts, prompts.Document("a a", {.max_document_tokens = 0, .cut = cut}).value());
        EXPECT_EQ(static_cast<std::int64_t>(Whole(prompts, prompt).size()),
                  static_cast<std::int64_t>(nothing.size()) + most);
      }
      const auto none = prompts.Document(
          document, {.max_document_tokens = most, .cut = DocumentLimits::Cut::kNone});
      EXPECT_EQ(none.has_value(), uncut.document_tokens <= most);
      // The limit of the whole prompt.
      for (const std::int64_t less : {0, 1, 3}) {
        const std::int64_t limit = static_cast<std::int64_t>(whole.size()) - less;
        const auto prompt = prompts.Document(document, {.max_prompt_tokens = limit});
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
    std::filesystem::path(SCORECAST_TESTS_DIR) / "golden" / "rerank" / "chat";

class ChatPrompts : public testing::Test {
 protected:
  std::unique_ptr<Tokenizer> tokenizer_ =
      LoadTokenizer(kChat, ControlTokensOfTemplates("qwen3-reranker"));
  proto::ModelConfig config_ = {.vocab_size = tokenizer_->vocab_size()};
  std::shared_ptr<const Reranker> reranker_ =
      LoadReranker(kChat, "qwen3-reranker", config_, tokenizer_.get()).reranker;
  RerankPrompts prompts_ = RerankPrompts::Make(*reranker_, "when is it open", std::nullopt).value();
};

TEST_F(ChatPrompts, ACutAtTheEndKeepsTheFirstTokens) {
  const std::string document = "the harbour is open and every boat has a light on its mast";
  const RerankPrompts::Prompt uncut = prompts_.Document(document).value();
  const RerankPrompts::Prompt empty = prompts_.Document("").value();
  const auto suffix = static_cast<std::ptrdiff_t>(empty.rest.size());
  for (std::int64_t most = 1; most < uncut.document_tokens; ++most) {
    const RerankPrompts::Prompt cut =
        prompts_.Document(document, {.max_document_tokens = most}).value();
    const auto kept = static_cast<std::ptrdiff_t>(cut.rest.size()) - suffix;
    EXPECT_TRUE(std::equal(cut.rest.begin(), cut.rest.begin() + kept, uncut.rest.begin()));
    EXPECT_EQ(Ids(cut.rest.end() - 9, cut.rest.end()), Ids(empty.rest.end() - 9, empty.rest.end()));
  }
}

TEST_F(ChatPrompts, ACutAtTheStartKeepsTheLastTokens) {
  const std::string document = "the harbour is open and every boat has a light on its mast";
  const RerankPrompts::Prompt uncut = prompts_.Document(document).value();
  const RerankPrompts::Prompt cut =
      prompts_.Document(document, {.max_document_tokens = 4, .cut = DocumentLimits::Cut::kStart})
          .value();
  EXPECT_EQ(Ids(cut.rest.end() - 13, cut.rest.end()), Ids(uncut.rest.end() - 13, uncut.rest.end()));
}

TEST_F(ChatPrompts, ThePartsThatAreNotTheDocumentMustFit) {
  const auto least =
      static_cast<std::int64_t>(Whole(prompts_, prompts_.Document("").value()).size());
  EXPECT_TRUE(prompts_.Document("a b c", {.max_prompt_tokens = least}));
  EXPECT_EQ(prompts_.Document("a", {.max_prompt_tokens = least - 1}).error(),
            EncodeFault::kTooManyTokens);
  EXPECT_TRUE(
      RerankPrompts::Make(*reranker_, "when is it open", std::nullopt, {.max_tokens = least}));
  EXPECT_EQ(
      RerankPrompts::Make(*reranker_, "when is it open", std::nullopt, {.max_tokens = least - 1})
          .error(),
      EncodeFault::kTooManyTokens);
}

TEST_F(ChatPrompts, AnEmptyInstructionIsTheDefault) {
  const RerankPrompts empty = RerankPrompts::Make(*reranker_, "when is it open", "").value();
  EXPECT_EQ(empty.prefix(), prompts_.prefix());
  const RerankPrompts other = RerankPrompts::Make(*reranker_, "when is it open", "Find").value();
  EXPECT_NE(other.prefix(), prompts_.prefix());
}

TEST_F(ChatPrompts, HugeDocumentsCostTheirLimit) {
  std::string huge;
  while (huge.size() < (std::size_t{15} << 20)) {
    huge += "the harbour is open and every boat has a light. ";
  }
  for (const auto cut : {DocumentLimits::Cut::kEnd, DocumentLimits::Cut::kStart}) {
    const double begin = ThreadCpuSeconds();
    const RerankPrompts::Prompt prompt =
        prompts_.Document(huge, {.max_document_tokens = 500, .cut = cut}).value();
    EXPECT_TRUE(prompt.is_cut);
    EXPECT_EQ(prompt.document_tokens, 500);
    EXPECT_LT(ThreadCpuSeconds() - begin, 1);
  }
  EXPECT_EQ(prompts_.Document(huge, {.max_document_tokens = 500, .cut = DocumentLimits::Cut::kNone})
                .error(),
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
    const RerankPrompts prompts = RerankPrompts::Make(reranker, query, std::nullopt).value();
    for (int i = 0; i < 200; ++i) {
      ASSERT_TRUE(prompts.Document("boat " + std::to_string(i)));
    }
    EXPECT_LT(ThreadCpuSeconds() - begin, 3);
  }
}

TEST_F(ChatPrompts, StopsEarly) {
  const std::atomic<bool> stop = true;
  EXPECT_EQ(prompts_.Document("a", {.stop = &stop}).error(), EncodeFault::kStopped);
}

}  // namespace rerank_prompts_test
}  // namespace scorecast::coordinator
