#include "coordinator/transports/batch/files/input_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/transports/batch/files/compressor.h"
#include "proto/base/digest.h"
#include "proto/base/error.h"
#include "tests/reference/temp_directory.h"

namespace scorecast::coordinator {
namespace input_file_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// Gives its pieces one at a time, and then an error if there is one.
class Pieces : public ByteSource {
 public:
  explicit Pieces(std::vector<std::string> pieces, std::string error = "")
      : pieces_(std::move(pieces)), error_(std::move(error)) {}

  proto::Expected<std::size_t, std::string> Read(std::span<char> to) override {
    while (next_ < pieces_.size() && pieces_[next_].empty()) {
      ++next_;
    }
    if (next_ < pieces_.size()) {
      const std::size_t bytes = pieces_[next_].copy(to.data(), to.size());
      pieces_[next_].erase(0, bytes);
      return bytes;
    }
    ++reads_at_end_;
    if (!error_.empty()) {
      return proto::Unexpected(error_);
    }
    return std::size_t{0};
  }

  int reads_at_end() const { return reads_at_end_; }

 private:
  std::vector<std::string> pieces_;
  std::size_t next_ = 0;
  const std::string error_;
  int reads_at_end_ = 0;
};

InputFile Reading(std::vector<std::string> pieces, std::int64_t max_bytes = 1 << 30,
                  const std::string& name = "in.jsonl", const std::string& error = "") {
  return {std::make_unique<Pieces>(std::move(pieces), error), name, max_bytes};
}

/// The lines that are left, with "!" for one that is too long.
std::vector<std::string> Lines(InputFile& file) {
  std::vector<std::string> lines;
  std::string line;
  const std::int64_t before = file.line_number();
  for (auto result = file.Next(line); result != InputFile::Result::kEnd; result = file.Next(line)) {
    lines.push_back(result == InputFile::Result::kTooLong ? "!" : line);
    EXPECT_EQ(file.line_number(), before + static_cast<std::int64_t>(lines.size()));
  }
  return lines;
}

std::vector<std::string> Lines(const std::string& text, std::int64_t max_bytes) {
  InputFile file = Reading({text}, max_bytes);
  return Lines(file);
}

/// `text` in members or frames of `bytes` each.
std::string Compressed(Compression compression, std::string_view text, std::size_t bytes) {
  const auto compressor = MakeCompressor(compression);
  std::string out;
  for (; !text.empty(); text.remove_prefix(std::min(bytes, text.size()))) {
    compressor->Add(text.substr(0, bytes), out);
    compressor->End(out);
  }
  return out;
}

std::string ManyLines(int count) {
  std::mt19937 random(7);
  std::string text;
  for (int i = 0; i < count; ++i) {
    text += std::to_string(random()) + std::string(random() % 300, 'x') + "\n";
  }
  return text;
}

TEST(InputFile, SplitsAtNewlines) {
  EXPECT_THAT(Lines("", 10), IsEmpty());
  EXPECT_THAT(Lines("a", 10), ElementsAre("a"));
  EXPECT_THAT(Lines("a\n", 10), ElementsAre("a"));
  EXPECT_THAT(Lines("\n", 10), ElementsAre(""));
  EXPECT_THAT(Lines("a\n\nb\r\nc", 10), ElementsAre("a", "", "b\r", "c"));
  EXPECT_THAT(Lines(std::string("a\0b\n", 4), 10), ElementsAre(std::string("a\0b", 3)));
}

TEST(InputFile, LinesOverTheLimitAreDropped) {
  EXPECT_THAT(Lines("12345\n123456\n12345", 5), ElementsAre("12345", "!", "12345"));
  EXPECT_THAT(Lines("12\n123456", 5), ElementsAre("12", "!"));
}

TEST(InputFile, LinesLongerThanTheBuffer) {
  constexpr int kBuffer = 64 << 10;
  for (const int length : {kBuffer - 1, kBuffer, kBuffer + 1, 2 * kBuffer, 5 * kBuffer + 7}) {
    const std::string line(static_cast<std::size_t>(length), 'x');
    EXPECT_THAT(Lines(line, length), ElementsAre(line)) << length;
    EXPECT_THAT(Lines(line + "\nb\n", length), ElementsAre(line, "b")) << length;
    EXPECT_THAT(Lines(line + "\nb\n", length - 1), ElementsAre("!", "b")) << length;
    EXPECT_THAT(Lines(line, length - 1), ElementsAre("!")) << length;
  }
}

TEST(InputFile, ALineIsReadBeforeTheNextBytesAreThere) {
  auto pieces = std::make_unique<Pieces>(std::vector<std::string>{"{", "a}\n"});
  const Pieces& source = *pieces;
  InputFile file(std::move(pieces), "in.jsonl", 100);
  std::string line;
  ASSERT_EQ(file.Next(line), InputFile::Result::kLine);
  EXPECT_EQ(line, "{a}");
  EXPECT_EQ(source.reads_at_end(), 0);
}

TEST(InputFile, CountsAndDigestsWhatWasRead) {
  InputFile file = Reading({"ab\n", "12345", "6789\nc"}, 5);
  std::string line;
  EXPECT_EQ(file.offset(), 0);
  EXPECT_EQ(file.digest(), proto::DigestOf(""));
  ASSERT_EQ(file.Next(line), InputFile::Result::kLine);
  EXPECT_EQ(file.offset(), 3);
  EXPECT_EQ(file.position(), 3);
  EXPECT_EQ(file.digest(), proto::DigestOf("ab\n"));
  ASSERT_EQ(file.Next(line), InputFile::Result::kTooLong);
  EXPECT_EQ(file.offset(), 13);
  EXPECT_EQ(file.digest(), proto::DigestOf("ab\n123456789\n")) << "a line that was dropped counts";
  ASSERT_EQ(file.Next(line), InputFile::Result::kLine);
  EXPECT_EQ(file.offset(), 14);
  EXPECT_EQ(file.position(), 14);
}

TEST(InputFile, SkippingEqualsReading) {
  const std::string text = ManyLines(2000) + "last";
  for (const Compression compression :
       {Compression::kNone, Compression::kGzip, Compression::kZstd}) {
    const std::string bytes =
        compression == Compression::kNone ? text : Compressed(compression, text, 10'000);
    InputFile whole = Reading({bytes});
    std::string line;
    for (int i = 0; i < 1234; ++i) {
      ASSERT_EQ(whole.Next(line), InputFile::Result::kLine);
    }
    InputFile skipped = Reading({bytes});
    EXPECT_TRUE(skipped.SkipTo(whole.offset()));
    EXPECT_EQ(skipped.line_number(), whole.line_number());
    EXPECT_EQ(skipped.digest(), whole.digest());
    EXPECT_EQ(skipped.offset(), whole.offset());
    EXPECT_EQ(Lines(skipped), Lines(whole));
    InputFile to_end = Reading({bytes});
    EXPECT_TRUE(to_end.SkipTo(whole.offset()));
    EXPECT_EQ(to_end.line_number(), 2001) << "the last line has no newline";
    EXPECT_EQ(to_end.offset(), static_cast<std::int64_t>(text.size()));
    EXPECT_FALSE(to_end.SkipTo(whole.offset() + 1));
    EXPECT_EQ(to_end.failure(), "");
  }
}

TEST(InputFile, ReadsMembersAndFramesOneBehindTheOther) {
  const std::string text = ManyLines(3000);
  InputFile plain = Reading({text});
  const std::vector<std::string> lines = Lines(plain);
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    for (const std::size_t member : {std::size_t{1000}, std::size_t{77'777}, text.size()}) {
      const std::string bytes = Compressed(compression, text, member);
      InputFile file = Reading({bytes});
      EXPECT_EQ(Lines(file), lines) << NameOf(compression) << " " << member;
      EXPECT_EQ(file.failure(), "");
      EXPECT_EQ(file.position(), static_cast<std::int64_t>(bytes.size()));
      // Also if the bytes come one at a time.
      std::vector<std::string> single;
      for (const char byte : bytes.substr(0, 30'000)) {
        single.emplace_back(1, byte);
      }
      single.push_back(bytes.substr(std::min<std::size_t>(bytes.size(), 30'000)));
      InputFile slow = Reading(std::move(single));
      EXPECT_EQ(Lines(slow), lines) << NameOf(compression) << " " << member;
    }
  }
}

TEST(InputFile, MembersWithoutBytesArePassed) {
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    const auto compressor = MakeCompressor(compression);
    std::string bytes;
    compressor->End(bytes);
    compressor->End(bytes);
    compressor->Add("a\n", bytes);
    compressor->End(bytes);
    compressor->End(bytes);
    InputFile file = Reading({bytes});
    EXPECT_THAT(Lines(file), ElementsAre("a"));
    EXPECT_EQ(file.failure(), "");
  }
  using std::string_literals::operator""s;
  InputFile skippable =
      Reading({"\x50\x2A\x4D\x18\x02\0\0\0??"s + Compressed(Compression::kZstd, "a\n", 9)});
  EXPECT_THAT(Lines(skippable), ElementsAre("a"));
  InputFile padded = Reading({Compressed(Compression::kGzip, "a\n", 9) + std::string(512, '\0')});
  EXPECT_THAT(Lines(padded), ElementsAre("a"));
  EXPECT_EQ(padded.failure(), "");
}

TEST(InputFile, TextThatBeginsLikeACompressedFileIsText) {
  EXPECT_THAT(Lines("\x1F", 10), ElementsAre("\x1F"));
  EXPECT_THAT(Lines("P\n(\n", 10), ElementsAre("P", "("));
  EXPECT_THAT(Lines("(\xB5\n", 10), ElementsAre("(\xB5"));
}

TEST(InputFile, APositionIsInTheCompressedFile) {
  const std::string text = ManyLines(3000);
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    const std::string bytes = Compressed(compression, text, 1 << 20);
    InputFile file = Reading({bytes});
    std::string line;
    for (int i = 0; i < 1500; ++i) {
      ASSERT_EQ(file.Next(line), InputFile::Result::kLine);
    }
    EXPECT_GT(file.position(), static_cast<std::int64_t>(bytes.size() / 4));
    EXPECT_LT(file.position(), static_cast<std::int64_t>(bytes.size() * 3 / 4));
  }
}

TEST(InputFile, DamageIsAFailureAfterTheLinesBefore) {
  const std::string first = ManyLines(1000);
  for (const Compression compression : {Compression::kGzip, Compression::kZstd}) {
    const std::string good = Compressed(compression, first, 1 << 20);
    const auto expect = [&](const std::string& bytes, const std::string& why) {
      InputFile file = Reading({bytes}, 1 << 20, "in." + std::string(NameOf(compression)));
      EXPECT_EQ(Lines(file).size(), 1000u) << why;
      EXPECT_THAT(file.failure(), HasSubstr("cannot read in." + std::string(NameOf(compression))));
      EXPECT_THAT(file.failure(), HasSubstr(why));
      std::string line;
      EXPECT_EQ(file.Next(line), InputFile::Result::kEnd) << "a failure stays";
    };
    // The second member or frame is a half, and its part of a line is no line.
    const std::string second = Compressed(compression, "{\"half\":1}\n", 1 << 20);
    expect(good + second.substr(0, second.size() / 2), "ends too early");
    expect(good + second.substr(0, 3), "ends too early");
    std::string wrong_sum = second;
    wrong_sum[wrong_sum.size() - (compression == Compression::kGzip ? 6 : 2)] ^= 1;
    InputFile file = Reading({good + wrong_sum});
    Lines(file);
    EXPECT_THAT(file.failure(), HasSubstr("data is damaged: "));
    expect(good + "what is this?", "data is damaged: ");
  }
}

// The header of a frame names its window; a window may also be as large as the content.
TEST(InputFile, AWindowThatIsTooLargeIsNamed) {
  using namespace std::string_literals;
  const std::string magic = "\x28\xB5\x2F\xFD";
  const std::string empty_block = "\x01\0\0"s;
  const std::string first = Compressed(Compression::kZstd, "a\n", 1 << 20);
  const std::string advice = " > 134217728 bytes; compress it with --long=27 or less";
  for (const auto& [header, bytes] :
       std::vector<std::pair<std::string, std::string>>{{"\0\x90"s, "268435456"},
                                                        {"\0\x89"s, "150994944"},
                                                        {"\xA0\x01\0\0\x08"s, "134217729"}}) {
    for (const std::size_t piece : {std::size_t{1}, std::size_t{100}}) {
      std::vector<std::string> pieces;
      const std::string all = first + magic + header + empty_block;
      for (std::size_t at = 0; at < all.size(); at += piece) {
        pieces.push_back(all.substr(at, piece));
      }
      InputFile file = Reading(pieces, 100, "in.zst");
      EXPECT_THAT(Lines(file), ElementsAre("a"));
      EXPECT_EQ(file.failure(),
                "cannot read in.zst: its zstd window is too large: " + bytes + advice);
    }
  }
  // As large as allowed.
  InputFile file = Reading({magic + "\0\x88"s + empty_block}, 100, "in.zst");
  EXPECT_THAT(Lines(file), IsEmpty());
  EXPECT_EQ(file.failure(), "");
}

TEST(InputFile, AReadErrorIsAFailure) {
  InputFile file = Reading({"a\nb"}, 100, "in.jsonl", "Input/output error");
  EXPECT_THAT(Lines(file), ElementsAre("a")) << "the rest of b is not known";
  EXPECT_EQ(file.failure(), "cannot read in.jsonl: Input/output error");
}

TEST(InputFile, AFileMustBeWhatItsNameSays) {
  InputFile gzip = Reading({"{}\n"}, 100, "in.jsonl.gz");
  EXPECT_THAT(Lines(gzip), IsEmpty());
  EXPECT_EQ(gzip.failure(),
            "cannot read in.jsonl.gz: it is no gzip file, although its name says so");
  InputFile empty = Reading({}, 100, "in.jsonl.zst");
  EXPECT_THAT(Lines(empty), IsEmpty());
  EXPECT_EQ(empty.failure(),
            "cannot read in.jsonl.zst: it is no zstd file, although its name says so");
}

TEST(InputFile, FilesOnDisk) {
  const reference::TempDirectory directory;
  const std::filesystem::path path = directory.path() / "in.jsonl";
  std::ofstream(path) << "a\nb\n";
  InputFile file(path, 100);
  EXPECT_EQ(file.size(), 4);
  EXPECT_THAT(Lines(file), ElementsAre("a", "b"));
  EXPECT_EQ(file.position(), 4);
  EXPECT_FALSE(InputFile("/dev/null", 100).size());
  const auto fault = [](const std::filesystem::path& wrong) {
    try {
      InputFile(wrong, 100);
    } catch (const proto::StartupError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(fault(directory.path() / "none"),
            "cannot read " + (directory.path() / "none").string() + ": No such file or directory");
  EXPECT_EQ(fault(directory.path()),
            "cannot read " + directory.path().string() + ": Is a directory");
}

}  // namespace input_file_test
}  // namespace scorecast::coordinator
