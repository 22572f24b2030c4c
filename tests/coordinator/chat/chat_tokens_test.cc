#include "coordinator/chat/chat_tokens.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/fake_tokenizer.h"

namespace scorecast::coordinator {
namespace chat_tokens_test {

using ::testing::ElementsAre;
using Ids = std::vector<TokenId>;

/// One token a byte, and some control tokens, which are text if they are spelled in an escaped one.
class ControlTokenizer : public FakeTokenizer {
 public:
  ControlTokenizer() : FakeTokenizer({}) {}

  std::vector<SpecialToken> special_tokens() const override {
    return {{.id = 300, .text = "<a>"},
            {.id = 301, .text = "<ab>"},
            {.id = 302, .text = "<end>", .takes_space_behind = true},
            {.id = 303, .text = "<mask>", .takes_space_before = true},
            {.id = 304, .text = "word", .single_word = true},
            {.id = 305, .text = "  "}};
  }
};

MarkedText Marked(const std::vector<std::pair<std::string, bool>>& parts) {
  MarkedText text;
  for (const auto& [part, is_request] : parts) {
    text.Append(part, is_request ? MarkedText::Origin::kRequest : MarkedText::Origin::kTemplate);
  }
  return text;
}

Ids IdsOf(const std::vector<std::pair<std::string, bool>>& parts) {
  const ControlTokenizer tokenizer;
  return ChatTokens(tokenizer).Encode(Marked(parts), {}).value();
}

TEST(ChatTokens, ControlTokensAreTheTemplatesOnly) {
  EXPECT_EQ(IdsOf({{"<a>x<ab>", false}}), (Ids{300, 'x', 301}));
  EXPECT_EQ(IdsOf({{"<a>", false}, {"<a>", true}, {"<a>", false}}), (Ids{300, '<', 'a', '>', 300}));
  EXPECT_EQ(IdsOf({{"<", false}, {"a", true}, {">", false}}), (Ids{'<', 'a', '>'}))
      << "a token that is spelled together";
  EXPECT_EQ(IdsOf({{"<a", false}, {"b>", true}}), (Ids{'<', 'a', 'b', '>'}));
  EXPECT_EQ(IdsOf({}), Ids());
}

TEST(ChatTokens, TokensTakeTheWhiteSpaceBesideThem) {
  EXPECT_EQ(IdsOf({{"<end>\n ", false}, {" x", true}}), (Ids{302, 'x'}));
  EXPECT_EQ(IdsOf({{"x", false}, {" \n", true}, {"<mask> y", false}}), (Ids{'x', 303, ' ', 'y'}));
  EXPECT_EQ(IdsOf({{"<end> <mask>", false}}), (Ids{302, 303})) << "the space is taken once";
}

TEST(ChatTokens, AWordIsNoPartOfAnother) {
  EXPECT_EQ(IdsOf({{"a word.", false}}), (Ids{'a', ' ', 304, '.'}));
  EXPECT_EQ(IdsOf({{"word", false}, {"s", true}}), (Ids{'w', 'o', 'r', 'd', 's'}));
}

TEST(ChatTokens, WhiteSpaceIsText) { EXPECT_EQ(IdsOf({{"a  ", false}}), (Ids{'a', ' ', ' '})); }

TEST(ChatTokens, TooManyTokensAreAFault) {
  const ControlTokenizer tokenizer;
  const ChatTokens tokens(tokenizer);
  const MarkedText text = Marked({{"<a><a>", false}, {"xy", true}});
  EXPECT_EQ(tokens.Encode(text, {.max_tokens = 4}).value().size(), 4U);
  for (const std::int64_t limit : {1, 3}) {
    EXPECT_EQ(tokens.Encode(text, {.max_tokens = limit}).error(), EncodeFault::kTooManyTokens);
  }
}

TEST(ChatTokens, EndWithEnoughTokens) {
  const ControlTokenizer tokenizer;
  const MarkedText text = Marked({{"<a>xy<ab>", false}, {"z", true}, {"<ab>", false}});
  const Ids whole = ChatTokens(tokenizer).Encode(text, {}).value();
  ASSERT_EQ(whole, (Ids{300, 'x', 'y', 301, 'z', 301}));
  for (const std::int64_t enough : {1, 2, 3, 4, 6, 7}) {
    const Ids ids = ChatTokens(tokenizer).Encode(text, {.enough_tokens = enough}).value();
    ASSERT_GE(ids.size(), std::min<std::size_t>(whole.size(), static_cast<std::size_t>(enough)));
    EXPECT_TRUE(std::equal(ids.begin(), ids.end(), whole.begin())) << enough;
  }
}

}  // namespace chat_tokens_test
}  // namespace scorecast::coordinator
