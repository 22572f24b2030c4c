#include "coordinator/transports/web/inflate.h"

#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/coordinator/transports/web/compressed.h"

namespace scorecast::coordinator {
namespace inflate_test {

constexpr std::int64_t kMaxBytes = 1'000'000;
constexpr ContentCoding kZlib = ContentCoding::kZlib;
constexpr ContentCoding kZstd = ContentCoding::kZstd;

class Inflation : public ::testing::Test {
 protected:
  /// The text; the reason if there is none.
  std::string Of(const std::string& compressed, ContentCoding coding,
                 std::int64_t max_bytes = kMaxBytes) {
    const auto inflated = Inflate(compressed, coding, max_bytes, held_);
    return inflated ? inflated->text : inflated.error().reason;
  }
  /// The text that is compressed in this format, and decompressed again.
  std::string Again(const std::string& text, Format format, std::int64_t max_bytes = kMaxBytes) {
    return Of(Compressed(text, format), CodingOf(format), max_bytes);
  }
  static ContentCoding CodingOf(Format format) { return format == Format::kZstd ? kZstd : kZlib; }

  HeldBytes held_{4'000'000};
};

TEST_F(Inflation, GivesTheText) {
  std::string text;
  for (std::int64_t i = 0; i < 50'000; ++i) {
    text += std::to_string(i * i);
  }
  for (const std::string& one : {std::string(), std::string("a"), text}) {
    EXPECT_EQ(Again(one, Format::kGzip), one);
    EXPECT_EQ(Again(one, Format::kZlib), one);
    EXPECT_EQ(Again(one, Format::kZstd), one);
  }
  EXPECT_EQ(Of(Compressed("one", Format::kGzip) + Compressed("two", Format::kGzip), kZlib),
            "onetwo");
  EXPECT_EQ(Of(Compressed("one", Format::kZstd) + Compressed("two", Format::kZstd), kZstd),
            "onetwo");
  EXPECT_EQ(held_.bytes(), 0);
}

TEST_F(Inflation, CountsItsBytes) {
  const auto inflated =
      Inflate(Compressed(std::string(900'000, 'x'), Format::kGzip), kZlib, kMaxBytes, held_);
  ASSERT_TRUE(inflated);
  EXPECT_GE(held_.bytes(), 900'000);
  EXPECT_LE(held_.bytes(), 1'000'000);
}

TEST_F(Inflation, NeedsNoMoreRoomThanAGzipFileClaims) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{65'535}, std::size_t{65'536},
                                 std::size_t{300'000}, std::size_t{kMaxBytes}}) {
    const std::string compressed = Compressed(std::string(size, 'x'), Format::kGzip);
    const std::int64_t claimed = ClaimedBytes(compressed, kZlib, kMaxBytes);
    EXPECT_LE(claimed, static_cast<std::int64_t>(size) + 65'536);
    const Held others = held_.Hold(4'000'000);
    EXPECT_TRUE(Inflate(compressed, kZlib, kMaxBytes, held_, claimed)) << size;
  }
  EXPECT_EQ(ClaimedBytes(Compressed(std::string(50'000'000, 'x'), Format::kGzip), kZlib, kMaxBytes),
            kMaxBytes + 1);
  const std::string two =
      Compressed(std::string(900'000, 'x'), Format::kGzip) + Compressed("", Format::kGzip);
  EXPECT_EQ(ClaimedBytes(two, kZlib, kMaxBytes), 65'536) << "which is wrong";
  const Held others = held_.Hold(4'000'000);
  EXPECT_FALSE(Inflate(two, kZlib, kMaxBytes, held_, 65'536));
  EXPECT_EQ(ClaimedBytes(std::string(50'000, '\0'), kZlib, kMaxBytes), 4 * 65'536) << "a guess";
}

TEST_F(Inflation, NeedsNoMoreRoomThanAZstdFrameClaims) {
  const std::string compressed = Compressed(std::string(300'000, 'x'), Format::kZstd);
  const std::int64_t claimed = ClaimedBytes(compressed, kZstd, kMaxBytes);
  EXPECT_GE(claimed, 300'000);
  EXPECT_LE(claimed, 300'000 + 65'536);
  EXPECT_EQ(ClaimedBytes(Compressed(std::string(50'000'000, 'x'), Format::kZstd), kZstd, kMaxBytes),
            kMaxBytes + 1);
  const std::string silent = CompressedByZstd(std::string(300'000, 'x'), /*window_log=*/20);
  EXPECT_EQ(ClaimedBytes(silent, kZstd, kMaxBytes), 65'536) << "a guess";
  EXPECT_EQ(Of(silent, kZstd), std::string(300'000, 'x'));
}

TEST_F(Inflation, RefusesAZstdFrameWhoseWindowTakesMuchMemory) {
  EXPECT_EQ(Of(CompressedByZstd("a", 23), kZstd), "a");
  EXPECT_EQ(Of(CompressedByZstd("a", 24), kZstd), "bad_content_encoding");
}

TEST_F(Inflation, PassesOverSkippableZstdFrames) {
  const std::string skippable("\x50\x2A\x4D\x18\x03\0\0\0abc", 11);
  const std::string one = Compressed("one", Format::kZstd);
  EXPECT_EQ(Of(skippable + one, kZstd), "one");
  EXPECT_EQ(Of(one + skippable, kZstd), "one");
}

TEST_F(Inflation, StopsAtTheLimit) {
  EXPECT_EQ(Again(std::string(100, 'x'), Format::kZstd, 100), std::string(100, 'x'));
  EXPECT_EQ(Again(std::string(101, 'x'), Format::kZstd, 100), "request_too_large");
  EXPECT_EQ(Again(std::string(50'000'000, 'x'), Format::kZstd), "request_too_large");
  EXPECT_EQ(Again(std::string(100, 'x'), Format::kGzip, 100), std::string(100, 'x'));
  EXPECT_EQ(Again(std::string(101, 'x'), Format::kGzip, 100), "request_too_large");
  EXPECT_EQ(Again(std::string(50'000'000, 'x'), Format::kGzip), "request_too_large");
  EXPECT_EQ(held_.bytes(), 0);
}

TEST_F(Inflation, StopsIfThereIsNoRoom) {
  const Held others = held_.Hold(3'950'000);
  EXPECT_EQ(Again(std::string(900'000, 'x'), Format::kGzip), "overloaded");
}

TEST_F(Inflation, RefusesWhatIsNotCompressed) {
  for (const ContentCoding coding : {kZlib, kZstd}) {
    EXPECT_EQ(Of("", coding), "bad_content_encoding");
    EXPECT_EQ(Of("{\"query\": 1}", coding), "bad_content_encoding");
  }
  EXPECT_EQ(Of(Compressed("a", Format::kGzip), kZstd), "bad_content_encoding");
  EXPECT_EQ(Of(Compressed("a", Format::kZstd), kZlib), "bad_content_encoding");
  for (const auto& [format, checksum] :
       {std::pair(Format::kGzip, 5), std::pair(Format::kZstd, 1)}) {
    const std::string good = Compressed(std::string(1000, 'x') + "yz", format);
    EXPECT_EQ(Of(good + "more", CodingOf(format)), "bad_content_encoding");
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
      EXPECT_EQ(Of(good.substr(0, cut), CodingOf(format)), "bad_content_encoding") << cut;
    }
    std::string broken = good;
    char& byte = broken[broken.size() - static_cast<std::size_t>(checksum)];
    byte = static_cast<char>(byte ^ 1);
    EXPECT_EQ(Of(broken, CodingOf(format)), "bad_content_encoding") << "the checksum";
  }
}

}  // namespace inflate_test
}  // namespace scorecast::coordinator
