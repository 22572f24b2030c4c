#include "coordinator/generate/text_stream.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/text/unicode/utf8.h"
#include "tests/coordinator/generate/small_tokenizers.h"
#include "tests/rounds.h"

namespace scorecast::coordinator {
namespace text_stream_test {

using Ids = std::vector<TokenId>;

std::string WithoutOpenCharacter(std::string text) {
  for (int i = 0; i < 3 && text.ends_with("\uFFFD"); ++i) {
    text.resize(text.size() - 3);
  }
  return text;
}

class TextStreamOf : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    tokenizer_ = SmallTokenizer(GetParam());
    ASSERT_NE(tokenizer_, nullptr);
  }

  /// Length of the text of `ids` that later tokens can change.
  std::size_t OpenLength(const Ids& ids) const {
    using State = Tokenizer::TextState;
    const std::string text = tokenizer_->Decode(ids);
    std::size_t settled = ids.size();
    for (std::size_t i = ids.size(); i > 0; --i) {
      switch (tokenizer_->StateOf(ids[i - 1])) {
        case State::kCharacters:
          return text.size() - WithoutOpenCharacter(text).size();
        case State::kSettled:
          return text.size() - tokenizer_->Decode(std::span(ids).first(settled)).size();
        case State::kOpen:
          settled = i - 1;
          break;
        case State::kAbsent:
          break;
      }
    }
    return text.size() - tokenizer_->Decode(std::span(ids).first(settled)).size();
  }

  /// Compares every delta with the text of all tokens together.
  void ExpectExact(const Ids& context, const Ids& completion) {
    const std::string before = tokenizer_->Decode(context);
    TextStream stream(*tokenizer_, context);
    std::string streamed;
    Ids all = context;
    for (const TokenId id : completion) {
      all.push_back(id);
      const std::string delta = stream.Push(id);
      ASSERT_TRUE(IsValidUtf8(delta));
      streamed += delta;
      const std::string text = tokenizer_->Decode(all);
      const std::size_t hidden = OpenLength(all);
      const std::string after = TextAfter(before, text);
      ASSERT_EQ(streamed, after.size() < hidden ? "" : after.substr(0, after.size() - hidden));
    }
    const std::string rest = stream.Finish();
    ASSERT_TRUE(IsValidUtf8(rest));
    ASSERT_EQ(streamed + rest, TextAfter(before, tokenizer_->Decode(all)));
  }

  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(TextStreamOf, GivesTheTextOfAllTokensTogether) {
  HardTokens tokens(*tokenizer_, 11);
  for (int i = 0; i < Rounds(600); ++i) {
    const Ids context = tokens.Next(i % 3 == 0 ? 2 : 90);
    const Ids completion = tokens.Next(i % 2 == 0 ? 8 : 120);
    SCOPED_TRACE(testing::PrintToString(context) + " | " + testing::PrintToString(completion));
    ASSERT_NO_FATAL_FAILURE(ExpectExact(context, completion));
  }
}

TEST_P(TextStreamOf, SlicesOfTokensGiveTheTextOfAll) {
  HardTokens tokens(*tokenizer_, 12);
  for (int i = 0; i < Rounds(600); ++i) {
    const Ids ids = tokens.Next(120);
    const std::size_t size = 1 + static_cast<std::size_t>(i) % 50;
    TextStream stream(*tokenizer_, {});
    std::string streamed;
    for (std::span<const TokenId> left = ids; !left.empty();) {
      const std::size_t count = std::min(size, left.size());
      streamed += stream.Push(left.first(count));
      left = left.subspan(count);
    }
    ASSERT_EQ(streamed + stream.Finish(), tokenizer_->Decode(ids))
        << "slices of " << size << " of " << testing::PrintToString(ids);
  }
}

TEST_P(TextStreamOf, CutsATextAnywhere) {
  const Ids ids = tokenizer_->EncodeWithAdded("One  two\n日本語 👩‍👩‍👧 Zürich €");
  for (std::size_t cut = 0; cut <= ids.size(); ++cut) {
    SCOPED_TRACE(cut);
    ASSERT_NO_FATAL_FAILURE(
        ExpectExact({ids.begin(), ids.begin() + cut}, {ids.begin() + cut, ids.end()}));
  }
}

/// Counts the tokens that it decodes.
class CountingTokenizer : public Tokenizer {
 public:
  explicit CountingTokenizer(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  void EncodeText(std::string_view text, const EncodeOptions& options,
                  TokenCollector& tokens) const override {
    for (const TokenId id : tokenizer_.Encode(text, options)) {
      tokens.Add(id);
    }
  }
  const std::vector<TokenId>& added_prefix() const override { return tokenizer_.added_prefix(); }
  const std::vector<TokenId>& added_suffix() const override { return tokenizer_.added_suffix(); }
  std::optional<TokenId> bos() const override { return tokenizer_.bos(); }
  std::string Decode(std::span<const TokenId> ids) const override {
    decoded_ += ids.size();
    return tokenizer_.Decode(ids);
  }
  TextState StateOf(TokenId id) const override { return tokenizer_.StateOf(id); }
  std::int64_t vocab_size() const override { return tokenizer_.vocab_size(); }
  std::string_view kind() const override { return tokenizer_.kind(); }
  std::vector<SpecialToken> special_tokens() const override { return tokenizer_.special_tokens(); }

  std::size_t decoded() const { return decoded_; }

 private:
  const Tokenizer& tokenizer_;
  mutable std::size_t decoded_ = 0;
};

// Repeated tokens cost the same each time. If the cost of a token grew with the number of tokens
// before it, the second half would cost three times the first.
TEST_P(TextStreamOf, CostOfATokenDoesNotGrow) {
  constexpr std::size_t kHalf = 2000;
  HardTokens tokens(*tokenizer_, 12);
  for (int i = 0; i < Rounds(40); ++i) {
    Ids pattern = tokens.Next(20);
    pattern.push_back(static_cast<TokenId>(tokens.Below(tokenizer_->vocab_size())));
    SCOPED_TRACE(testing::PrintToString(pattern));
    const CountingTokenizer counting(*tokenizer_);
    TextStream stream(counting, {});
    for (std::size_t n = 0; n < kHalf; ++n) {
      stream.Push(pattern[n % pattern.size()]);
    }
    const std::size_t first = counting.decoded();
    for (std::size_t n = kHalf; n < 2 * kHalf; ++n) {
      stream.Push(pattern[n % pattern.size()]);
    }
    ASSERT_LT(counting.decoded() - first, 2 * first);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, TextStreamOf, testing::ValuesIn(SmallTokenizers()),
                         NameOfTokenizer<testing::TestParamInfo<std::string>>);
INSTANTIATE_TEST_SUITE_P(WordEnds, TextStreamOf, testing::Values("word-ends"),
                         NameOfTokenizer<testing::TestParamInfo<std::string>>);

TEST(TextStream, WaitsForTheLastByteOfACharacter) {
  for (const std::string name : {"sentencepiece-bpe", "nfc"}) {
    SCOPED_TRACE(name);
    const std::unique_ptr<Tokenizer> tokenizer = SmallTokenizer(name);
    // A character without merges: each byte is a token, besides SentencePiece's space before it.
    const Ids ids = tokenizer->Encode("x\U00010384");
    const Ids bytes(ids.end() - 4, ids.end());
    TextStream stream(*tokenizer, std::span(ids).first(ids.size() - 4));
    EXPECT_EQ(stream.Push(bytes[0]), "");
    EXPECT_EQ(stream.Push(bytes[1]), "");
    EXPECT_EQ(stream.Push(bytes[2]), "");
    EXPECT_EQ(stream.Push(bytes[3]), "\U00010384");
    EXPECT_EQ(stream.Push(bytes[0]), "");
    EXPECT_EQ(stream.Finish(), "\uFFFD");
  }
}

// The reference makes text of all neighbouring bytes together, or else of none.
TEST(TextStream, WaitsForTheEndOfARunOfBytes) {
  const std::unique_ptr<Tokenizer> tokenizer = SmallTokenizer("llama2");
  const Ids ids = tokenizer->Encode("a\U00010384e");
  ASSERT_EQ(ids.size(), 6u);
  for (const bool is_broken : {false, true}) {
    TextStream stream(*tokenizer, std::span(ids).first(1));
    for (int i = 1; i < 5; ++i) {
      EXPECT_EQ(stream.Push(ids[i]), "");
    }
    if (is_broken) {
      EXPECT_EQ(stream.Push(ids[1]), "");
    }
    EXPECT_EQ(stream.Push(ids[5]), is_broken ? "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFDe" : "\U00010384e");
    EXPECT_EQ(stream.Finish(), "");
  }
  TextStream stream(*tokenizer, std::span(ids).first(3));
  EXPECT_EQ(stream.Push(ids[3]), "");
  EXPECT_EQ(stream.Push(ids[4]), "");
  EXPECT_EQ(stream.Finish(), "\U00010384");
}

TEST(TextStream, WaitsPastTokensWithoutText) {
  for (const std::string name : {"sentencepiece-bpe", "nfc"}) {
    SCOPED_TRACE(name);
    const std::unique_ptr<Tokenizer> tokenizer = SmallTokenizer(name);
    const Ids ids = tokenizer->Encode("x\U00010384");
    TextStream stream(*tokenizer, std::span(ids).first(ids.size() - 2));
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(stream.Push(-1), "");
    }
    EXPECT_EQ(stream.Push(ids[ids.size() - 2]), "");
    EXPECT_EQ(stream.Push(ids.back()), "\U00010384");
  }
}

TEST(TextStream, EndsACharacterThatTheContextBegan) {
  for (const std::string name : {"sentencepiece-bpe", "nfc"}) {
    SCOPED_TRACE(name);
    const std::unique_ptr<Tokenizer> tokenizer = SmallTokenizer(name);
    const Ids ids = tokenizer->Encode("x\U00010384");
    TextStream stream(*tokenizer, std::span(ids).first(ids.size() - 1));
    EXPECT_EQ(stream.Push(ids.back()), "\U00010384");
    EXPECT_EQ(stream.Finish(), "");
  }
}

TEST(TextStream, KeepsTheSpaceBeforeAWordUnlessTheTextBegins) {
  const std::unique_ptr<Tokenizer> tokenizer = SmallTokenizer("sentencepiece-bpe");
  const Ids one = tokenizer->Encode("one");
  const auto stream_one = [&](const Ids& context) {
    TextStream stream(*tokenizer, context);
    std::string text;
    for (const TokenId id : one) {
      text += stream.Push(id);
    }
    return text + stream.Finish();
  };
  EXPECT_EQ(stream_one({}), "one");
  EXPECT_EQ(stream_one({tokenizer->bos().value()}), "one");
  EXPECT_EQ(stream_one(one), " one");
}

}  // namespace text_stream_test
}  // namespace scorecast::coordinator
