#include "coordinator/text/tokenize_lines.h"

#include <filesystem>
#include <memory>
#include <sstream>
#include <streambuf>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace tokenize_lines_test {

using nlohmann::json;

struct Output {
  int exit_code = 0;
  std::vector<json> lines;
};

class TokenizeLinesTest : public testing::Test {
 protected:
  Output Tokenize(const std::string& input, bool add_special = true,
                  const EncodeOptions& options = {}) const {
    std::istringstream in(input);
    std::ostringstream out;
    Output run;
    run.exit_code = TokenizeLines(*tokenizer_, options, add_special, in, out);
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);) {
      run.lines.push_back(json::parse(line));
    }
    return run;
  }

  const std::unique_ptr<Tokenizer> tokenizer_ =
      LoadTokenizer(std::filesystem::path(reference::kTestsDirectory) / "coordinator" / "text" /
                    "data" / "prefix-space");
};

TEST_F(TokenizeLinesTest, WritesALineForEachLine) {
  const Output run =
      Tokenize("{\"text\":\" harbour\"}\n{\"text\":\"\",\"more\":1}\r\n{\"text\":\"é\\u0000\"}");
  EXPECT_EQ(run.exit_code, 0);
  ASSERT_EQ(run.lines.size(), 3u);
  EXPECT_EQ(run.lines[0], (json{{"ids", tokenizer_->EncodeWithAdded(" harbour")}}));
  EXPECT_EQ(run.lines[1], (json{{"ids", tokenizer_->EncodeWithAdded("")}}));
  EXPECT_EQ(run.lines[1]["ids"].size(), 3u);  // BOS, EOS, EOS
  EXPECT_EQ(run.lines[2], (json{{"ids", tokenizer_->EncodeWithAdded(std::string("é\0", 3))}}));
}

TEST_F(TokenizeLinesTest, AddsNothingUnlessAsked) {
  const Output run = Tokenize("{\"text\":\" harbour\"}\n{\"text\":\"\"}\n", false);
  EXPECT_EQ(run.exit_code, 0);
  ASSERT_EQ(run.lines.size(), 2u);
  EXPECT_EQ(run.lines[0], (json{{"ids", tokenizer_->Encode(" harbour")}}));
  EXPECT_EQ(run.lines[1], (json{{"ids", json::array()}}));
}

TEST_F(TokenizeLinesTest, EscapesSpecialTokensIfAsked) {
  const EncodeOptions escape = {.special_tokens = SpecialTokensInText::kEscape};
  const Output run = Tokenize("{\"text\":\"a<|im_end|>\"}\n", false, escape);
  ASSERT_EQ(run.lines.size(), 1u);
  EXPECT_EQ(run.lines[0], (json{{"ids", tokenizer_->Encode("a<|im_end|>", escape)}}));
  EXPECT_NE(run.lines[0], (json{{"ids", tokenizer_->Encode("a<|im_end|>")}}));
}

TEST_F(TokenizeLinesTest, ABadLineGetsAnErrorAndTheRunGoesOn) {
  const Output run = Tokenize(
      "not JSON\n[]\n{}\n{\"text\":3}\n\n{\"text\":\"\xff\"}\n{\"text\":\"\\ud800\"}\n"
      "{\"text\":\"good\"}\n{\"text\":null}\n");
  EXPECT_EQ(run.exit_code, 3);
  ASSERT_EQ(run.lines.size(), 9u);
  for (std::size_t i = 0; i < run.lines.size(); ++i) {
    SCOPED_TRACE(run.lines[i].dump());
    if (i == 7) {
      EXPECT_EQ(run.lines[i], (json{{"ids", tokenizer_->EncodeWithAdded("good")}}));
      continue;
    }
    const json& error = run.lines[i].at("error");
    EXPECT_EQ(error.at("code"), 400);
    EXPECT_EQ(error.at("line"), i + 1);
    EXPECT_FALSE(error.at("message").get<std::string>().empty());
  }
}

TEST_F(TokenizeLinesTest, AZeroByteDoesNotEndALine) {
  const Output run = Tokenize(std::string("{\"text\":\"a\"}\0x\n", 15));
  EXPECT_EQ(run.exit_code, 3);
  ASSERT_EQ(run.lines.size(), 1u);
  EXPECT_EQ(run.lines[0]["error"]["code"], 400);
}

TEST_F(TokenizeLinesTest, NoLinesAreNoFault) { EXPECT_EQ(Tokenize("").exit_code, 0); }

/// An input that provides a line only after the output for the line before it has been flushed.
class Conversation : public std::streambuf {
 public:
  bool replied_in_time() const { return replied_in_time_; }

 protected:
  int_type underflow() override {
    if (asked_ > 0 && flushed_ < asked_) {
      replied_in_time_ = false;
    }
    if (asked_ == 3) {
      return traits_type::eof();
    }
    ++asked_;
    setg(line_.data(), line_.data(), line_.data() + line_.size());
    return traits_type::to_int_type(line_.front());
  }

 private:
  friend class CountingBuffer;
  std::string line_ = "{\"text\":\"x\"}\n";
  int asked_ = 0;
  int flushed_ = 0;
  bool replied_in_time_ = true;
};

/// Counts the flushes of the output.
class CountingBuffer : public std::stringbuf {
 public:
  explicit CountingBuffer(Conversation& conversation) : conversation_(conversation) {}

 protected:
  int sync() override {
    ++conversation_.flushed_;
    return std::stringbuf::sync();
  }

 private:
  Conversation& conversation_;
};

TEST_F(TokenizeLinesTest, WritesEachLineBeforeItWaits) {
  Conversation conversation;
  std::istream in(&conversation);
  CountingBuffer buffer(conversation);
  std::ostream out(&buffer);
  EXPECT_EQ(TokenizeLines(*tokenizer_, {}, true, in, out), 0);
  EXPECT_TRUE(conversation.replied_in_time());
}

TEST_F(TokenizeLinesTest, AnOutputThatFailsEndsTheRun) {
  std::istringstream in("{\"text\":\"x\"}\n");
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(TokenizeLines(*tokenizer_, {}, true, in, out), 1);
}

}  // namespace tokenize_lines_test
}  // namespace scorecast::coordinator
