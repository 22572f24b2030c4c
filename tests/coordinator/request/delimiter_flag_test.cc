#include "coordinator/request/delimiter_flag.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "tests/coordinator/fake_tokenizer.h"

namespace scorecast::coordinator {
namespace delimiter_flag_test {

using ::testing::HasSubstr;

/// A tokenizer with a control token that is never found in text, like SentencePiece's.
class ControlTokenizer : public FakeTokenizer {
 public:
  ControlTokenizer() : FakeTokenizer({}) {}
  std::vector<SpecialToken> special_tokens() const override { return {{7, "</c>"}}; }
};

class DelimiterFlag : public ::testing::Test {
 protected:
  DelimiterFlag() { config_.vocab_size = 300; }

  std::string Refusal(std::string_view value, const Tokenizer* tokenizer) const {
    try {
      return "taken as " + std::to_string(DelimiterFromFlag(value, tokenizer, config_));
    } catch (const proto::StartupError& error) {
      return error.what();
    }
  }

  proto::ModelConfig config_;
  const FakeTokenizer tokenizer_{{{"</s>", 2}, {"<far>", 300}}};
};

TEST_F(DelimiterFlag, DigitsAreAnIdAndAnythingElseIsText) {
  EXPECT_EQ(DelimiterFromFlag("0", nullptr, config_), 0);
  EXPECT_EQ(DelimiterFromFlag("299", &tokenizer_, config_), 299);
  EXPECT_EQ(DelimiterFromFlag("</s>", &tokenizer_, config_), 2);
}

TEST_F(DelimiterFlag, ASpecialTokensSpellingNamesIt) {
  const ControlTokenizer tokenizer;
  EXPECT_EQ(DelimiterFromFlag("</c>", &tokenizer, config_), 7);
  EXPECT_THAT(Refusal("</d>", &tokenizer), HasSubstr("exactly one token, but it is 4"));
}

TEST_F(DelimiterFlag, RefusesValuesThatAreNoDelimiter) {
  EXPECT_THAT(Refusal("300", nullptr), HasSubstr("300 is outside the model's vocabulary of 300"));
  EXPECT_THAT(Refusal("99999999999999999999999", nullptr), HasSubstr("vocabulary"));
  EXPECT_THAT(Refusal("<far>", &tokenizer_), HasSubstr("vocabulary"));
  EXPECT_THAT(Refusal("</s>", nullptr), HasSubstr("no tokenizer"));
  EXPECT_THAT(Refusal("ab", &tokenizer_), HasSubstr("exactly one token, but it is 2"));
  EXPECT_THAT(Refusal("", &tokenizer_), HasSubstr("exactly one token, but it is 0"));
  EXPECT_THAT(Refusal("-1", &tokenizer_), HasSubstr("exactly one token"));
  EXPECT_THAT(Refusal("\xff", &tokenizer_), HasSubstr("UTF-8"));
}

}  // namespace delimiter_flag_test
}  // namespace scorecast::coordinator
