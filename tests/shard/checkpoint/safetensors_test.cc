#include "shard/checkpoint/safetensors.h"

#include <span>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/base/error.h"
#include "tests/shard/checkpoint/file_of_bytes.h"
#include "tests/shard/checkpoint/model_files.h"

namespace scorecast::shard {
namespace safetensors_test {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

SafetensorsHeader Parse(const std::string& file) {
  return ReadSafetensorsHeader(FileOfBytes(std::as_bytes(std::span(file))).file());
}

std::string ErrorOf(const std::string& file) {
  try {
    Parse(file);
  } catch (const proto::StartupError& error) {
    const std::string message = error.what();
    EXPECT_THAT(message, AllOf(StartsWith("/proc/self/fd/"), Not(HasSubstr("\n"))));
    EXPECT_LT(message.size(), 500U);
    return message;
  }
  ADD_FAILURE() << "accepted";
  return {};
}

/// A file whose header is `tensors` in braces, followed by `size` bytes of data.
std::string File(const std::string& tensors, std::size_t size) {
  return SafetensorsFile(std::string("{") + tensors + "}", std::string(size, '\x01'));
}

std::string Tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return std::string("\"") + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape +
         R"(,"data_offsets":)" + offsets + "}";
}

TEST(SafetensorsTest, ReadsTensorsInTheOrderOfTheirBytes) {
  const std::string file =
      SafetensorsFile(std::string("{") + Tensor("b", "BF16", "[2]", "[12,16]") + "," +
                          Tensor("a", "F32", "[1, 3]", "[0,12]") + "," +
                          Tensor("c", "F16", "[]", "[16,18]") + "}  ",
                      "0123456789abcdefgh");
  const std::vector<SafetensorsEntry> tensors = Parse(file).tensors;
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].dtype, Dtype::kF32);
  EXPECT_EQ(tensors[0].dtype_name, "F32");
  EXPECT_THAT(tensors[0].shape, ElementsAre(1, 3));
  EXPECT_EQ(tensors[1].name, "b");
  EXPECT_EQ(tensors[1].dtype, Dtype::kBF16);
  EXPECT_EQ(tensors[2].dtype, Dtype::kF16);
  EXPECT_THAT(tensors[2].shape, IsEmpty());
  const auto text = [&](const SafetensorsEntry& tensor) {
    return file.substr(static_cast<std::size_t>(tensor.offset),
                       static_cast<std::size_t>(tensor.bytes));
  };
  EXPECT_EQ(text(tensors[0]), "0123456789ab");
  EXPECT_EQ(text(tensors[1]), "cdef");
  EXPECT_EQ(text(tensors[2]), "gh");
}

TEST(SafetensorsTest, ReadsMetadataAndFilesWithoutTensors) {
  EXPECT_THAT(Parse(SafetensorsFile("{}", "")).tensors, IsEmpty());
  EXPECT_THAT(Parse(SafetensorsFile(R"({"__metadata__":{"format":"pt"}}   )", "")).tensors,
              IsEmpty());
}

TEST(SafetensorsTest, EmptyTensorsMayLieAnywhereBetweenOthers) {
  EXPECT_EQ(Parse(File(Tensor("a", "F32", "[1]", "[0,4]") + "," +
                           Tensor("none", "F32", "[3,0]", "[4,4]") + "," +
                           Tensor("b", "F32", "[1]", "[4,8]") + "," +
                           Tensor("end", "F32", "[0]", "[8,8]"),
                       8))
                .tensors.size(),
            4U);
}

TEST(SafetensorsTest, DtypesThatWeDoNotReadStillCount) {
  const std::vector<SafetensorsEntry> tensors =
      Parse(File(Tensor("i", "I64", "[2]", "[0,16]") + "," + Tensor("b", "BOOL", "[3]", "[16,19]") +
                     "," + Tensor("f", "F4", "[4]", "[19,21]"),
                 21))
          .tensors;
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_FALSE(tensors[0].dtype.has_value());
  EXPECT_EQ(tensors[0].dtype_name, "I64");
  EXPECT_THAT(ErrorOf(File(Tensor("f", "F4", "[3]", "[0,1]"), 1)), HasSubstr("tensor \"f\""));
}

TEST(SafetensorsTest, FilesShorterThanTheirHeaderAreNamedWithBothSizes) {
  EXPECT_THAT(ErrorOf(""), AllOf(HasSubstr("truncated"), HasSubstr("this one 0")));
  EXPECT_THAT(ErrorOf("1234567"), HasSubstr("this one 7"));
  std::string file = File(Tensor("a", "F32", "[1]", "[0,4]"), 4);
  const std::size_t whole = file.size();
  for (std::size_t size = 0; size < whole; ++size) {
    EXPECT_THAT(ErrorOf(file.substr(0, size)),
                AllOf(HasSubstr("truncated"), HasSubstr(std::to_string(size))));
  }
  file.pop_back();
  EXPECT_THAT(ErrorOf(file), AllOf(HasSubstr("end at byte " + std::to_string(whole)),
                                   HasSubstr("has " + std::to_string(whole - 1) + " bytes")));
}

TEST(SafetensorsTest, LyingHeaderLengthsAreRefused) {
  for (const std::uint64_t length :
       {std::uint64_t{100'000'001}, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
    std::string file = File("", 0);
    std::memcpy(file.data(), &length, 8);
    EXPECT_THAT(ErrorOf(file), AllOf(HasSubstr(std::to_string(length)), HasSubstr("100000000")));
  }
  std::string file = File("", 0);
  const std::uint64_t length = 100'000'000;
  std::memcpy(file.data(), &length, 8);
  EXPECT_THAT(ErrorOf(file),
              AllOf(HasSubstr("truncated"), HasSubstr("100000008"), HasSubstr("10")));
}

TEST(SafetensorsTest, BytesThatBelongToNoTensorAreRefused) {
  EXPECT_THAT(ErrorOf(File(Tensor("a", "F32", "[1]", "[0,4]"), 5)), HasSubstr("end at byte"));
  EXPECT_THAT(ErrorOf(File(Tensor("a", "F32", "[1]", "[4,8]"), 8)),
              AllOf(HasSubstr("bytes 0 to 4"), HasSubstr("\"a\""), HasSubstr("no tensor")));
  EXPECT_THAT(
      ErrorOf(
          File(Tensor("a", "F32", "[1]", "[0,4]") + "," + Tensor("b", "F32", "[1]", "[8,12]"), 12)),
      AllOf(HasSubstr("bytes 4 to 8"), HasSubstr("\"b\"")));
  EXPECT_THAT(ErrorOf(SafetensorsFile("{}", "x")), HasSubstr("end at byte 10"));
}

TEST(SafetensorsTest, OverlapsAreRefused) {
  EXPECT_THAT(
      ErrorOf(
          File(Tensor("a", "F32", "[2]", "[0,8]") + "," + Tensor("b", "F32", "[2]", "[4,12]"), 12)),
      HasSubstr("tensors \"a\" and \"b\" overlap"));
  EXPECT_THAT(
      ErrorOf(
          File(Tensor("a", "F32", "[2]", "[0,8]") + "," + Tensor("b", "F32", "[2]", "[0,8]"), 8)),
      HasSubstr("overlap"));
  // An empty tensor inside the bytes of another.
  EXPECT_THAT(
      ErrorOf(
          File(Tensor("a", "F32", "[2]", "[0,8]") + "," + Tensor("b", "F32", "[0]", "[4,4]"), 8)),
      HasSubstr("overlap"));
}

TEST(SafetensorsTest, OffsetsThatDoNotSuitTheShapeAreRefused) {
  EXPECT_THAT(ErrorOf(File(Tensor("a", "F32", "[2,3]", "[0,20]"), 20)),
              AllOf(HasSubstr("tensor \"a\""), HasSubstr("[2, 3]"), HasSubstr("needs 24 bytes"),
                    HasSubstr("hold 20")));
  EXPECT_THAT(ErrorOf(File(Tensor("a", "F16", "[2]", "[0,8]"), 8)), HasSubstr("needs 4 bytes"));
  EXPECT_THAT(ErrorOf(File(Tensor("a", "F32", "[1]", "[4,0]"), 4)),
              AllOf(HasSubstr("ends at byte 0"), HasSubstr("before it begins at byte 4")));
  // Shape and offsets agree, but the file is shorter.
  EXPECT_THAT(ErrorOf(File(Tensor("a", "F32", "[1000]", "[0,4000]"), 4)), HasSubstr("truncated"));
}

TEST(SafetensorsTest, OverflowsAreRefused) {
  for (const char* shape :
       {"[4611686018427387904]", "[4294967296,4294967296]", "[9223372036854775807,2]",
        "[3037000500,3037000500]", "[2305843009213693952,8,0]", "[1152921504606846976,1]"}) {
    for (const char* offsets : {"[0,0]", "[0,4]", "[0,9223372036854775807]",
                                "[9223372036854775807,9223372036854775807]"}) {
      EXPECT_THAT(ErrorOf(File(Tensor("a", "F32", shape, offsets), 4)), HasSubstr("tensor \"a\""))
          << shape << offsets;
    }
  }
  EXPECT_THAT(
      ErrorOf(File(Tensor("a", "F32", "[1]", "[18446744073709551612,18446744073709551615]"), 4)),
      AllOf(HasSubstr("tensor \"a\""), HasSubstr("18446744073709551612")));
  EXPECT_THAT(ErrorOf(File(Tensor("a", "F32", "[99999999999999999999]", "[0,4]"), 4)),
              HasSubstr("whole numbers"));
  // No size overflows, but the data end beyond any possible file.
  EXPECT_THAT(
      ErrorOf(File(Tensor("a", "U8", "[1152921504606846975]", "[0,1152921504606846975]"), 4)),
      HasSubstr("truncated"));
}

TEST(SafetensorsTest, ShapesAndOffsetsMustBeWholeNumbers) {
  for (const char* number : {"-1", "1.0", "1e0", "\"1\"", "null", "true", "[1]", "{}"}) {
    EXPECT_THAT(ErrorOf(File(Tensor("a", "F32", std::string("[") + number + "]", "[0,4]"), 4)),
                HasSubstr("tensor \"a\""))
        << number;
    EXPECT_THAT(ErrorOf(File(Tensor("a", "F32", "[1]", std::string("[0,") + number + "]"), 4)),
                HasSubstr("tensor \"a\""))
        << number;
  }
  for (const char* offsets : {"[]", "[0]", "[0,4,4]"}) {
    EXPECT_THAT(ErrorOf(File(Tensor("a", "F32", "[1]", offsets), 4)),
                AllOf(HasSubstr("tensor \"a\""), HasSubstr("two numbers")));
  }
  EXPECT_THAT(ErrorOf(File(Tensor("a", "F32", "[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]", "[0,4]"), 4)),
              HasSubstr("more than 16 dimensions"));
}

TEST(SafetensorsTest, UnknownDtypesAreNamed) {
  for (const char* dtype : {"F33", "f32", "", "FLOAT"}) {
    EXPECT_THAT(ErrorOf(File(Tensor("a", dtype, "[1]", "[0,4]"), 4)),
                AllOf(HasSubstr("tensor \"a\""),
                      HasSubstr("unknown dtype \"" + std::string(dtype) + "\"")));
  }
}

TEST(SafetensorsTest, HeadersOfAnotherFormAreRefused) {
  for (const char* header : {"",
                             "[]",
                             "1",
                             "null",
                             "\"a\"",
                             " {}",
                             "\xEF\xBB\xBF{}",
                             "{\"a\":1}",
                             "{\"a\":[]}",
                             "{\"a\":null}",
                             "{\"a\":\"b\"}",
                             "{\"a\":{}}",
                             "{\"a\":{\"dtype\":\"F32\"}}",
                             R"({"a":{"dtype":"F32","shape":[0]}})",
                             R"({"a":{"dtype":1,"shape":[0],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"F32","shape":0,"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":"F32","shape":[0],"data_offsets":{}}})",
                             R"({"a":{"dtype":"F32","shape":[[0]],"data_offsets":[0,0]}})",
                             R"({"a":{"dtype":{"dtype":"F32"},"shape":[0],"data_offsets":[0,0]}})",
                             R"({"__metadata__":{"a":1}})",
                             R"({"__metadata__":{"a":{}}})",
                             R"({"__metadata__":[]})",
                             R"({"__metadata__":"x"})",
                             "{}{}",
                             "{} x",
                             "{",
                             "{\"a\"",
                             "{\"a\":{\"dtype\":",
                             "{,}"}) {
    ErrorOf(SafetensorsFile(header, ""));
  }
  EXPECT_THAT(ErrorOf(SafetensorsFile(std::string("{}\0{}", 5), "")), HasSubstr("JSON"));
  EXPECT_THAT(ErrorOf(SafetensorsFile("{\"\xff\":{}}", "")), HasSubstr("not valid JSON"));
  EXPECT_THAT(ErrorOf(SafetensorsFile("{\"a\":{\"x\":1}}", "")),
              AllOf(HasSubstr("tensor \"a\""), HasSubstr("unknown field \"x\"")));
  ErrorOf(SafetensorsFile("{\"a\":" + std::string(1000000, '['), ""));
}

TEST(SafetensorsTest, RepeatedNamesAreRefused) {
  const std::string a = Tensor("a", "F32", "[1]", "[0,4]");
  EXPECT_THAT(ErrorOf(File(a + "," + a, 4)), HasSubstr("names tensor \"a\" twice"));
  EXPECT_THAT(ErrorOf(File(a + "," + Tensor("\\u0061", "F32", "[1]", "[4,8]"), 8)),
              HasSubstr("names tensor \"a\" twice"));
  for (const char* again : {R"("dtype":"F16")", R"("shape":[1])", R"("data_offsets":[0,4])"}) {
    EXPECT_THAT(ErrorOf(File(R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4],)" +
                                 std::string(again) + "}",
                             4)),
                AllOf(HasSubstr("tensor \"a\""), HasSubstr("twice")));
  }
  EXPECT_THAT(ErrorOf(File(R"("__metadata__":{},"__metadata__":{})", 0)), HasSubstr("twice"));
}

TEST(SafetensorsTest, MessagesStayOneShortLineWhateverTheNames) {
  const std::string name = "x\\n" + std::string(100000, 'y');
  EXPECT_THAT(ErrorOf(File(Tensor(name, "F32", "[1]", "[0,5]"), 5)), HasSubstr("\"x\\x0ayy"));
  ErrorOf(File(Tensor("a", name, "[1]", "[0,4]"), 4));
  ErrorOf(File(std::string("\"") + name + R"(":{")" + name + R"(":1})", 4));
}

}  // namespace safetensors_test
}  // namespace scorecast::shard
