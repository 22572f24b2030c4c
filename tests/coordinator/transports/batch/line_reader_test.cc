#include "coordinator/transports/batch/line_reader.h"

#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Lines, with "!" for one that is too long.
std::vector<std::string> Lines(const std::string& text, std::int64_t max_bytes) {
  std::istringstream in(text);
  LineReader reader(in, max_bytes);
  std::vector<std::string> lines;
  std::string line;
  for (auto result = reader.Next(line); result != LineReader::Result::kEnd;
       result = reader.Next(line)) {
    lines.push_back(result == LineReader::Result::kTooLong ? "!" : line);
    EXPECT_EQ(reader.line_number(), static_cast<std::int64_t>(lines.size()));
  }
  return lines;
}

TEST(LineReader, SplitsAtNewlines) {
  EXPECT_THAT(Lines("", 10), IsEmpty());
  EXPECT_THAT(Lines("a", 10), ElementsAre("a"));
  EXPECT_THAT(Lines("a\n", 10), ElementsAre("a"));
  EXPECT_THAT(Lines("\n", 10), ElementsAre(""));
  EXPECT_THAT(Lines("a\n\nb\r\nc", 10), ElementsAre("a", "", "b\r", "c"));
  EXPECT_THAT(Lines(std::string("a\0b\n", 4), 10), ElementsAre(std::string("a\0b", 3)));
}

TEST(LineReader, LinesOverTheLimitAreDropped) {
  EXPECT_THAT(Lines("12345\n123456\n12345", 5), ElementsAre("12345", "!", "12345"));
  EXPECT_THAT(Lines("12\n123456", 5), ElementsAre("12", "!"));
}

TEST(LineReader, LinesLongerThanTheBuffer) {
  constexpr int kBuffer = 64 << 10;
  for (const int length : {kBuffer - 2, kBuffer - 1, kBuffer, 2 * (kBuffer - 1), 5 * kBuffer + 7}) {
    const std::string line(static_cast<std::size_t>(length), 'x');
    EXPECT_THAT(Lines(line, length), ElementsAre(line)) << length;
    EXPECT_THAT(Lines(line + "\nb\n", length), ElementsAre(line, "b")) << length;
    EXPECT_THAT(Lines(line + "\nb\n", length - 1), ElementsAre("!", "b")) << length;
    EXPECT_THAT(Lines(line, length - 1), ElementsAre("!")) << length;
  }
}

}  // namespace
}  // namespace scorecast::coordinator
