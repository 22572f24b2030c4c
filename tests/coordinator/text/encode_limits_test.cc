// A text has the same tokens in pieces as as a whole, for every kind of tokenizer, and is dropped
// at exactly its limit.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "coordinator/text/continued_text.h"
#include "coordinator/text/tokenizer.h"
#include "tests/coordinator/text/loaded_tokenizer.h"
#include "tests/coordinator/text/tokenizer_texts.h"
#include "tests/rounds.h"

namespace scorecast::coordinator {
namespace encode_limits_test {

using Ids = std::vector<TokenId>;

EncodeOptions RandomOptions(Texts& texts) {
  return {.at_start = texts.Below(3) > 0,
          .special_tokens =
              texts.Below(4) == 0 ? SpecialTokensInText::kEscape : SpecialTokensInText::kAllow};
}

/// A part that is repeated, so that pieces are long without a cut.
std::string Repeated(Texts& texts, std::size_t times) {
  const std::string part = texts.Next(2);
  std::string text;
  for (std::size_t i = 0; i < times; ++i) {
    text += part;
  }
  return text;
}

std::string LongText(Texts& texts) {
  std::string text = texts.Next(60);
  if (texts.Below(2) == 0) {
    text += Repeated(texts, 30);
    text += texts.Next(60);
  }
  return text;
}

class Pieces : public testing::TestWithParam<TokenizerDirectory> {
 protected:
  void SetUp() override {
    tokenizer_ = LoadedTokenizer(GetParam().path);
    ASSERT_NE(tokenizer_, nullptr);
  }

  Ids Whole(std::string_view text, const EncodeOptions& options) const {
    return tokenizer_->EncodeWithin({.piece_bytes = text.size() + 1}, text, options).value().ids;
  }

  const Tokenizer* tokenizer_ = nullptr;
};

TEST_P(Pieces, TokensAreThoseOfTheWholeText) {
  Texts texts(*tokenizer_);
  for (int i = 0; i < Rounds(400); ++i) {
    const std::string text = i % 8 == 0 ? texts.Next(20) : LongText(texts);
    const EncodeOptions options = RandomOptions(texts);
    const Ids whole = Whole(text, options);
    for (const std::size_t size : {i % 8 == 0 ? 1 : 24, 60, 200}) {
      ASSERT_EQ(tokenizer_->EncodeWithin({.piece_bytes = size}, text, options).value().ids, whole)
          << "pieces of " << size << " of " << testing::PrintToString(text)
          << (options.at_start ? "" : ", later section");
    }
  }
}

TEST_P(Pieces, ATextIsDroppedIfItHasMoreTokensThanAllowed) {
  Texts texts(*tokenizer_);
  for (int i = 0; i < Rounds(200); ++i) {
    const std::string text = i % 3 == 0 ? Repeated(texts, 100) : LongText(texts);
    const EncodeOptions options = {.at_start = texts.Below(3) > 0};
    const auto count = static_cast<std::int64_t>(Whole(text, options).size());
    if (count == 0) {
      continue;
    }
    for (const std::int64_t most : {std::int64_t{0}, count / 2, count - 1, count, count + 1}) {
      for (const std::size_t size : {40, 100000}) {
        const auto encoded =
            tokenizer_->EncodeWithin({.max_tokens = most, .piece_bytes = size}, text, options);
        ASSERT_EQ(encoded.has_value(), count <= most)
            << count << " tokens, " << most << " allowed, pieces of " << size << " of "
            << testing::PrintToString(text);
        if (!encoded) {
          ASSERT_EQ(encoded.error(), EncodeFault::kTooManyTokens);
        }
      }
    }
  }
}

TEST_P(Pieces, TheLeastNumberOfTokensHoldsForEveryContinuation) {
  Texts texts(*tokenizer_);
  for (int i = 0; i < Rounds(1000); ++i) {
    const std::string text = i % 2 == 0 ? Repeated(texts, 1 + texts.Below(60)) : texts.Next(12);
    const EncodeOptions options = {.at_start = texts.Below(3) > 0};
    const OpenEnd end = tokenizer_->FindOpenEnd(text, options);
    const std::string rest = text.substr(end.cut) + texts.Next(3);
    const Ids behind = Whole(rest, {.at_start = options.at_start && end.cut == 0});
    ASSERT_LE(end.least_tokens, static_cast<std::int64_t>(behind.size()))
        << testing::PrintToString(text) << " and " << testing::PrintToString(rest);
  }
}

TEST_P(Pieces, AContinuedTextMayHaveSeveral) {
  Texts texts(*tokenizer_);
  for (int i = 0; i < Rounds(200); ++i) {
    const std::string query = LongText(texts);
    const std::string item = texts.Next(20);
    Ids whole;
    if (tokenizer_->bos()) {
      whole.push_back(*tokenizer_->bos());
    }
    const Ids joint = Whole(query + item, {});
    whole.insert(whole.end(), joint.begin(), joint.end());
    const ContinuedText text =
        ContinuedText::Make(*tokenizer_, query, SpecialTokensInText::kAllow, {.piece_bytes = 30})
            .value();
    const auto certain = static_cast<std::ptrdiff_t>(text.certain_tokens());
    ASSERT_LE(certain, std::ssize(whole));
    EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + certain, text.ids().begin()));
    const Ids behind(whole.begin() + certain, whole.end());
    ASSERT_EQ(text.ContinueTail(item, {.piece_bytes = 30}).value(), behind)
        << testing::PrintToString(query) << " and " << testing::PrintToString(item);
    const auto count = static_cast<std::int64_t>(behind.size());
    EXPECT_TRUE(text.ContinueTail(item, {.max_tokens = count}).has_value());
    EXPECT_TRUE(count == 0 || !text.ContinueTail(item, {.max_tokens = count - 1}).has_value());
  }
}

TEST_P(Pieces, TokensAreTheSameIfTheTextGivesWayToOthers) {
  Texts texts(*tokenizer_);
  const std::atomic<bool> stop = false;
  for (int i = 0; i < 10; ++i) {
    const std::string text = LongText(texts);
    const std::string other = LongText(texts);
    const EncodeOptions options = RandomOptions(texts);
    const Ids alone = Whole(text, options);
    const Ids other_alone = Whole(other, options);
    int looks = 0;
    // Another text is encoded at some of the looks, on a thread that goes on in the meantime.
    const Interruption interruption(stop, [&] {
      if (++looks % 10 == 1) {
        const auto encoded =
            std::async(std::launch::async, [&] { return Whole(other, options); }).get();
        ASSERT_EQ(encoded, other_alone);
      }
    });
    const auto encoded =
        tokenizer_->EncodeWithin({.interruption = &interruption, .piece_bytes = 60}, text, options);
    ASSERT_EQ(encoded.value().ids, alone) << testing::PrintToString(text);
    EXPECT_GT(looks, 1);
  }
}

TEST_P(Pieces, NothingIsEncodedIfNobodyWaits) {
  const std::atomic<bool> stop = true;
  const Interruption interruption(stop);
  const EncodeLimits limits = {.interruption = &interruption};
  EXPECT_EQ(tokenizer_->EncodeWithin(limits, "the harbour").error(), EncodeFault::kStopped);
  EXPECT_EQ(
      ContinuedText::Make(*tokenizer_, "the harbour", SpecialTokensInText::kAllow, limits).error(),
      EncodeFault::kStopped);
}

INSTANTIATE_TEST_SUITE_P(Tokenizers, Pieces, testing::ValuesIn(TokenizerDirectories()),
                         NameOfTokenizer);

/// A token for each byte, and a certain cut before each space. Counts the bytes that it is given.
class CountingTokenizer : public Tokenizer {
 public:
  OpenEnd FindOpenEnd(std::string_view text, const EncodeOptions& /*options*/) const override {
    bytes_ += text.size();
    const std::size_t space = text.rfind(' ');
    return {.cut = space == std::string_view::npos ? 0 : space,
            .least_tokens = static_cast<std::int64_t>(
                space == std::string_view::npos ? text.size() : text.size() - space)};
  }
  const std::vector<TokenId>& added_prefix() const override { return none_; }
  const std::vector<TokenId>& added_suffix() const override { return none_; }
  std::optional<TokenId> bos() const override { return std::nullopt; }
  std::string Decode(std::span<const TokenId> /*ids*/) const override { return {}; }
  std::int64_t vocab_size() const override { return 256; }
  std::string_view kind() const override { return "counting"; }
  std::vector<SpecialToken> special_tokens() const override { return {}; }

  /// Bytes that were looked at since the last call.
  std::size_t TakeBytes() {
    const std::size_t bytes = bytes_;
    bytes_ = 0;
    return bytes;
  }

 private:
  void EncodeText(std::string_view text, const EncodeOptions& /*options*/,
                  TokenCollector& tokens) const override {
    for (const char c : text) {
      ++bytes_;
      tokens.Add(static_cast<unsigned char>(c));
    }
  }

  mutable std::size_t bytes_ = 0;
  std::vector<TokenId> none_;
};

std::string Words(std::size_t bytes) {
  std::string text;
  while (text.size() < bytes) {
    text += "harbour ";
  }
  return text;
}

TEST(EncodeLimits, WorkDependsOnTheLimitNotOnTheText) {
  CountingTokenizer tokenizer;
  for (const std::string& text : {Words(3'000'000), std::string(3'000'000, 'a')}) {
    for (const std::int64_t most : {0, 100, 1000, 10'000, 100'000}) {
      EXPECT_EQ(tokenizer.EncodeWithin({.max_tokens = most}, text).error(),
                EncodeFault::kTooManyTokens);
      EXPECT_LE(tokenizer.TakeBytes(), 20'000u + 8u * 2u * static_cast<std::size_t>(most));
    }
  }
}

TEST(EncodeLimits, WorkIsLinearInTheText) {
  CountingTokenizer tokenizer;
  // Without a cut, with one in the middle of each piece, and with many.
  std::string rare;
  while (rare.size() < 1'000'000) {
    rare += std::string(40'000, 'a') + " ";
  }
  for (const std::string& text : {std::string(1'000'000, 'a'), rare, Words(1'000'000)}) {
    EXPECT_EQ(tokenizer.EncodeWithin({}, text).value().ids.size(), text.size());
    EXPECT_LE(tokenizer.TakeBytes(), 8 * text.size());
  }
}

TEST(EncodeLimits, AShortTextIsEncodedOnce) {
  CountingTokenizer tokenizer;
  const std::string text = Words(40'000);
  EXPECT_TRUE(tokenizer.EncodeWithin({}, text).has_value());
  EXPECT_EQ(tokenizer.TakeBytes(), text.size());
}

TEST(EncodeLimits, ALongTextWithoutACutIsDropped) {
  CountingTokenizer tokenizer;
  const EncodeLimits limits;
  const std::size_t most = limits.max_uncut_bytes;
  for (const std::string& head : {std::string(), Words(200'000)}) {
    // Neither a long text nor a long run alone is dropped.
    EXPECT_TRUE(tokenizer.EncodeWithin(limits, head + std::string(most, 'a')).has_value());
    EXPECT_TRUE(tokenizer.EncodeWithin(limits, head + std::string(most / 4, 'a') + Words(2'000'000))
                    .has_value());
    tokenizer.TakeBytes();
    const std::string text = head + std::string(8 * most, 'a');
    EXPECT_EQ(tokenizer.EncodeWithin(limits, text).error(), EncodeFault::kUncut);
    EXPECT_LE(tokenizer.TakeBytes(), 4 * head.size() + 3 * most);
    EXPECT_EQ(tokenizer.Encode(text).size(), text.size());
  }
}

/// Texts without a certain cut: every text for a Unigram model without a tokenizer.json, and a run
/// of spaces for a model that removes extra spaces.
TEST(EncodeLimits, TheSentencePieceLibraryGetsNoLongText) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "takes a minute; the build without sanitizers runs it";
#endif
  const std::size_t most = EncodeLimits::kMaxUncutBytes / 4;
  const auto repeated = [](std::string_view part, std::size_t bytes) {
    std::string text;
    while (text.size() + part.size() <= bytes) {
      text += part;
    }
    return text;
  };
  const auto unigram = LoadTokenizer(kOwn / "sentencepiece-unigram");
  const auto removes_spaces = LoadTokenizer(kDemo / "model");
  ASSERT_NE(unigram, nullptr);
  ASSERT_NE(removes_spaces, nullptr);
  const EncodeLimits limits = {.max_tokens = 1'000'000};
  for (const std::string_view part : {"\U0001F600", "the harbour "}) {
    EXPECT_EQ(unigram->EncodeWithin(limits, repeated(part, most)).value().ids,
              unigram->Encode(repeated(part, most)));
    for (const std::size_t bytes : {most + part.size(), 16 * most}) {
      EXPECT_EQ(unigram->EncodeWithin(limits, repeated(part, bytes)).error(), EncodeFault::kUncut);
    }
  }
  EXPECT_EQ(removes_spaces->EncodeWithin(limits, repeated(" ", 16 * most)).error(),
            EncodeFault::kUncut);
  EXPECT_EQ(removes_spaces->EncodeWithin(limits, repeated("the harbour ", 2 * most)).value().ids,
            removes_spaces->Encode(repeated("the harbour ", 2 * most)));
}

/// Sets a flag when it has been given some bytes.
class StoppingTokenizer : public CountingTokenizer {
 public:
  OpenEnd FindOpenEnd(std::string_view text, const EncodeOptions& options) const override {
    pieces_ += 1;
    stop = pieces_ == 3;
    return CountingTokenizer::FindOpenEnd(text, options);
  }
  mutable std::atomic<bool> stop = false;

 private:
  mutable int pieces_ = 0;
};

TEST(EncodeLimits, StopEndsALongText) {
  StoppingTokenizer tokenizer;
  const Interruption interruption(tokenizer.stop);
  EXPECT_EQ(tokenizer.EncodeWithin({.interruption = &interruption}, Words(3'000'000)).error(),
            EncodeFault::kStopped);
  EXPECT_LE(tokenizer.TakeBytes(), 1'000'000u);
}

}  // namespace encode_limits_test
}  // namespace scorecast::coordinator
