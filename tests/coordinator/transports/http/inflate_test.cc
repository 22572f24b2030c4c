#include "coordinator/transports/http/inflate.h"

#include <cstdint>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/coordinator/transports/http/compressed.h"

namespace scorecast::coordinator {
namespace inflate_test {

constexpr std::int64_t kMaxBytes = 1'000'000;

class Inflation : public ::testing::Test {
 protected:
  /// The text; the reason if there is none.
  std::string Of(const std::string& compressed, std::int64_t max_bytes = kMaxBytes) {
    const auto inflated = Inflate(compressed, max_bytes, held_);
    return inflated ? inflated->text : inflated.error().reason;
  }

  HeldBytes held_{4'000'000};
};

TEST_F(Inflation, GivesTheText) {
  std::string text;
  for (std::int64_t i = 0; i < 50'000; ++i) {
    text += std::to_string(i * i);
  }
  for (const std::string& one : {std::string(), std::string("a"), text}) {
    EXPECT_EQ(Of(Compressed(one, Format::kGzip)), one);
    EXPECT_EQ(Of(Compressed(one, Format::kZlib)), one);
    EXPECT_EQ(Of(Compressed(one, Format::kZstd)), one);
  }
  EXPECT_EQ(Of(Compressed("one", Format::kGzip) + Compressed("two", Format::kGzip)), "onetwo");
  EXPECT_EQ(Of(Compressed("one", Format::kZstd) + Compressed("two", Format::kZstd)), "onetwo");
  EXPECT_EQ(held_.bytes(), 0);
}

TEST_F(Inflation, CountsItsBytes) {
  const auto inflated =
      Inflate(Compressed(std::string(900'000, 'x'), Format::kGzip), kMaxBytes, held_);
  ASSERT_TRUE(inflated);
  EXPECT_GE(held_.bytes(), 900'000);
  EXPECT_LE(held_.bytes(), 1'000'000);
}

TEST_F(Inflation, NeedsNoMoreRoomThanAGzipFileClaims) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{65'535}, std::size_t{65'536},
                                 std::size_t{300'000}, std::size_t{kMaxBytes}}) {
    const std::string compressed = Compressed(std::string(size, 'x'), Format::kGzip);
    const std::int64_t claimed = ClaimedBytes(compressed, kMaxBytes);
    EXPECT_LE(claimed, static_cast<std::int64_t>(size) + 65'536);
    const Held others = held_.Hold(4'000'000);
    EXPECT_TRUE(Inflate(compressed, kMaxBytes, held_, claimed)) << size;
  }
  EXPECT_EQ(ClaimedBytes(Compressed(std::string(50'000'000, 'x'), Format::kGzip), kMaxBytes),
            kMaxBytes + 1);
  const std::string two =
      Compressed(std::string(900'000, 'x'), Format::kGzip) + Compressed("", Format::kGzip);
  EXPECT_EQ(ClaimedBytes(two, kMaxBytes), 65'536) << "which is wrong";
  const Held others = held_.Hold(4'000'000);
  EXPECT_FALSE(Inflate(two, kMaxBytes, held_, 65'536));
  EXPECT_EQ(ClaimedBytes(std::string(50'000, '\0'), kMaxBytes), 4 * 65'536) << "a guess";
}

TEST_F(Inflation, NeedsNoMoreRoomThanAZstdFrameClaims) {
  const std::string compressed = Compressed(std::string(300'000, 'x'), Format::kZstd);
  const std::int64_t claimed = ClaimedBytes(compressed, kMaxBytes);
  EXPECT_GE(claimed, 300'000);
  EXPECT_LE(claimed, 300'000 + 65'536);
  EXPECT_EQ(ClaimedBytes(Compressed(std::string(50'000'000, 'x'), Format::kZstd), kMaxBytes),
            kMaxBytes + 1);
  const std::string silent = CompressedByZstd(std::string(300'000, 'x'), /*window_log=*/20);
  EXPECT_EQ(ClaimedBytes(silent, kMaxBytes), 65'536) << "a guess";
  EXPECT_EQ(Of(silent), std::string(300'000, 'x'));
}

TEST_F(Inflation, RefusesAZstdFrameWhoseWindowTakesMuchMemory) {
  EXPECT_EQ(Of(CompressedByZstd("a", 23)), "a");
  EXPECT_EQ(Of(CompressedByZstd("a", 24)), "bad_content_encoding");
}

TEST_F(Inflation, StopsAtTheLimit) {
  EXPECT_EQ(Of(Compressed(std::string(100, 'x'), Format::kZstd), 100), std::string(100, 'x'));
  EXPECT_EQ(Of(Compressed(std::string(101, 'x'), Format::kZstd), 100), "request_too_large");
  EXPECT_EQ(Of(Compressed(std::string(50'000'000, 'x'), Format::kZstd)), "request_too_large");
  EXPECT_EQ(Of(Compressed(std::string(100, 'x'), Format::kGzip), 100), std::string(100, 'x'));
  EXPECT_EQ(Of(Compressed(std::string(101, 'x'), Format::kGzip), 100), "request_too_large");
  EXPECT_EQ(Of(Compressed(std::string(50'000'000, 'x'), Format::kGzip)), "request_too_large");
  EXPECT_EQ(held_.bytes(), 0);
}

TEST_F(Inflation, StopsIfThereIsNoRoom) {
  const Held others = held_.Hold(3'950'000);
  EXPECT_EQ(Of(Compressed(std::string(900'000, 'x'), Format::kGzip)), "overloaded");
}

TEST_F(Inflation, RefusesWhatIsNotCompressed) {
  EXPECT_EQ(Of(""), "bad_content_encoding");
  EXPECT_EQ(Of("{\"query\": 1}"), "bad_content_encoding");
  for (const auto& [format, checksum] :
       {std::pair(Format::kGzip, 5), std::pair(Format::kZstd, 1)}) {
    const std::string good = Compressed(std::string(1000, 'x') + "yz", format);
    EXPECT_EQ(Of(good + "more"), "bad_content_encoding");
    for (std::size_t cut = 0; cut < good.size(); ++cut) {
      EXPECT_EQ(Of(good.substr(0, cut)), "bad_content_encoding") << cut;
    }
    std::string broken = good;
    char& byte = broken[broken.size() - static_cast<std::size_t>(checksum)];
    byte = static_cast<char>(byte ^ 1);
    EXPECT_EQ(Of(broken), "bad_content_encoding") << "the checksum";
  }
}

}  // namespace inflate_test
}  // namespace scorecast::coordinator
