#include "coordinator/json/json_text.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/json/body_members.h"
#include "proto/base/digest.h"
#include "tests/reference/directories.h"

namespace scorecast::coordinator {
namespace json_text_test {

constexpr std::int64_t kMaxValues = 5000;

std::string Reason(std::string_view text) {
  const auto json = ParseJson(text, kMaxValues);
  return json ? "" : json.error().reason;
}

std::string Repeated(std::string_view what, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) {
    text += what;
  }
  return text;
}

TEST(ParseJson, TakesJsonAndNothingElse) {
  EXPECT_EQ(Reason(R"({"a":[1,2.5,-3,"\u00e9\ud83d\ude00",null,true]})"), "");
  EXPECT_EQ(Reason(""), "invalid_json");
  EXPECT_EQ(Reason("{"), "invalid_json");
  EXPECT_EQ(Reason("{}x"), "invalid_json");
  EXPECT_EQ(Reason("NaN"), "invalid_json");
  EXPECT_EQ(Reason(R"({"temperature":Infinity})"), "invalid_json");
  EXPECT_EQ(Reason("[1e999]"), "invalid_json");
  EXPECT_EQ(Reason(R"(["\ud800"])"), "invalid_json") << "half a surrogate pair";
  EXPECT_EQ(Reason("[\"\xff\"]"), "invalid_utf8");
  EXPECT_EQ(Reason(R"(["a)"
                   "\n"
                   R"("])"),
            "invalid_json");
}

TEST(ParseJson, AFaultSaysWhereItIsAndWhatStandsThere) {
  const auto message = [](std::string_view text) {
    return ParseJson(text, kMaxValues).error().message;
  };
  EXPECT_EQ(message(""), "The request is not JSON: it ends too soon, at column 1.");
  EXPECT_EQ(message(R"({"a")"), "The request is not JSON: it ends too soon, at column 5.");
  EXPECT_EQ(message("{\"é\": 'b'}"),
            "The request is not JSON: unexpected \"'\" at column 7, after \"{\"é\": \".");
  EXPECT_EQ(message("{\n  \"query\": \"q\",\n  \"items\": [\"a\",]\n}"),
            "The request is not JSON: unexpected \"]\" at line 3, column 17, after "
            "\"  \"items\": [\"a\",\".");
  EXPECT_EQ(message("é"), "The request is not JSON: unexpected \"é\" at column 1.");
  EXPECT_EQ(message(std::string_view("{\0}", 3)),
            "The request is not JSON: unexpected \"\\x00\" at column 2, after \"{\".");
  EXPECT_EQ(message(R"(["\ud800"])"),
            "The request is not JSON: a lone surrogate at column 9; in a text, \\uD800 to \\uDBFF "
            "and \\uDC00 to \\uDFFF come in pairs.");
  EXPECT_EQ(message("[\"a surrogate U+D\x01\"]"),
            "The request is not JSON: unexpected \"\\x01\" at column 18, after "
            "\"\"a surrogate U+D\".");
  EXPECT_EQ(message(R"({"é": 1e400})"), "A number in the JSON is out of range: 1e400 at column 7.");
  EXPECT_EQ(
      message("[1,\n -1" + Repeated("0", 400) + "]"),
      "A number in the JSON is out of range: -1" + Repeated("0", 22) + "… at line 2, column 2.");
}

TEST(ParseJson, WhatIsNotUtf8IsRefusedForThat) {
  // Overlong, half of a pair, beyond the last character, cut off, and a byte of no character.
  for (const std::string bytes :
       {"\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    EXPECT_EQ(Reason("[\"" + bytes + "\"]"), "invalid_utf8");
    EXPECT_EQ(Reason("{\"" + bytes + "\":1}"), "invalid_utf8");
    EXPECT_EQ(Reason("[1," + bytes + "]"), "invalid_utf8") << "outside of a text";
    EXPECT_EQ(Reason("[1e999,\"" + bytes + "\"]"), "invalid_utf8");
    EXPECT_EQ(Reason(Repeated("[", 33) + bytes), "invalid_utf8") << "whatever else is wrong";
    EXPECT_EQ(Reason("[" + Repeated("[],", kMaxValues) + bytes), "invalid_utf8");
  }
  EXPECT_EQ(Reason("[\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"]"), "");
}

TEST(ParseJson, NestingIsBounded) {
  EXPECT_EQ(Reason(Repeated("[", 32) + Repeated("]", 32)), "");
  EXPECT_EQ(Reason(Repeated("[", 33) + Repeated("]", 33)), "invalid_json");
  EXPECT_EQ(Reason(Repeated("[", 1000000)), "invalid_json");
  EXPECT_EQ(Reason(Repeated("{\"a\":", 1000000)), "invalid_json");
  EXPECT_EQ(Reason("[\"" + Repeated("[", 100) + R"(\"[[[[)" + "\"]"), "") << "brackets in strings";
  EXPECT_EQ(Reason("[" + Repeated("[],", 100) + "[]]"), "") << "side by side";
}

TEST(ParseJson, TextsListsAndObjectsAreCountedBeforeAnythingIsBuilt) {
  for (const char* value : {"[],", "{},", "\"\",", "\"[{\\\"\","}) {
    EXPECT_EQ(Reason("[" + Repeated(value, kMaxValues - 2) + "[]]"), "") << value;
    EXPECT_EQ(Reason("[" + Repeated(value, kMaxValues - 1) + "[]]"), "too_many_values") << value;
  }
  EXPECT_EQ(Reason("{\"a\":[" + Repeated("[1],", kMaxValues)), "too_many_values") << "not JSON";
  EXPECT_EQ(Reason("[" + Repeated("262143,", 1'000'000) + "7]"), "") << "token ids do not count";
  EXPECT_EQ(ParseJson("[[],[]]", 2).error().message,
            "The request has too many texts, lists and objects: more than 2.");
}

TEST(ParseJson, MembersStayInTheirOrder) {
  const BodyJson body = ParseJson(R"({"b":1,"a":{"d":0,"c":0},"b":2})", kMaxValues).value();
  EXPECT_EQ(body.dump(), R"({"b":1,"a":{"d":0,"c":0},"b":2})");
  EXPECT_EQ(*FindMember(body, "b"), 2) << "the last of equal keys counts";
  EXPECT_TRUE(HasMember(body, "a"));
  EXPECT_EQ(FindMember(body, "d"), nullptr);
  EXPECT_FALSE(HasMember(ParseJson(R"({"a":1,"a":null})", kMaxValues).value(), "a"));
  EXPECT_EQ(FindMember(ParseJson("[1]", kMaxValues).value(), "a"), nullptr);
}

TEST(ParseJson, ManyKeysTakeNoLongerThanTheirText) {
  constexpr int kKeys = 100'000;
  std::string text = "{";
  for (int i = 0; i < kKeys; ++i) {
    text += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":0";
  }
  const std::clock_t begin = std::clock();
  EXPECT_EQ(ParseJson(text + "}", kKeys + 1).value().size(), std::size_t{kKeys});
  // It would take half a minute if each key were looked for among those before it.
  EXPECT_LT(std::clock() - begin, 5 * CLOCKS_PER_SEC);
}

// The expected texts are those of Python's json.dumps, without spaces.
TEST(CompactJson, NumbersAreThoseOfPython) {
  const auto compact = [](std::string_view text) {
    return CompactJson(ParseJson(text, kMaxValues).value());
  };
  EXPECT_EQ(
      compact(R"({ "rate" : 0.01207, "t" : 1732800000000000.0, "b" : [ 1e3, -0.0, -0, 1.10 ] })"),
      R"({"rate":0.01207,"t":1732800000000000.0,"b":[1000.0,-0.0,0,1.1]})");
  EXPECT_EQ(compact("[1E22,1e16,2.50e-7,0.00001,123456789.0]"),
            "[1e+22,1e+16,2.5e-07,1e-05,123456789.0]");
  EXPECT_EQ(compact("[9223372036854775807,-9223372036854775808,18446744073709551615]"),
            "[9223372036854775807,-9223372036854775808,18446744073709551615]");
  EXPECT_EQ(compact("[18446744073709551616,-9223372036854775809,123456789012345678901234567890]"),
            "[18446744073709551616,-9223372036854775809,123456789012345678901234567890]");
  EXPECT_EQ(compact(R"(["\u00e9\n\"\\\/\u001f\u007f",null,true,false,{},[],{"a":1,"a":2}])"),
            "[\"é\\n\\\"\\\\/\\u001f\x7f\",null,true,false,{},[],{\"a\":1,\"a\":2}]");
}

TEST(CompactJson, MultiplesOfAHundredThousandthAreThoseOfPython) {
  std::string list = "[";
  for (int i = 0; i < 1'000'000; ++i) {
    const std::string digits = std::to_string(100'000 + i % 100'000).substr(1);
    list += (i == 0 ? "" : ",") + std::to_string(i / 100'000) + "." + digits;
  }
  std::string lines = CompactJson(ParseJson(list + "]", kMaxValues).value()).substr(1);
  std::ranges::replace(lines, ',', '\n');
  lines.back() = '\n';
  const auto golden = nlohmann::json::parse(std::ifstream(
      std::filesystem::path(reference::kTestsDirectory) / "golden" / "python_texts.json"));
  std::ostringstream digest;
  digest << std::hex << std::setw(16) << std::setfill('0') << proto::DigestOf(lines);
  EXPECT_EQ(digest.str(), golden.at("multiples").get<std::string>());
}

TEST(NumberOf, TakesIntegersOfAnyLength) {
  const BodyJson list =
      ParseJson("[1,-2,2.5,100000000000000000000000,\"1\",null]", kMaxValues).value();
  EXPECT_EQ(NumberOf(list[0]), 1.0);
  EXPECT_EQ(NumberOf(list[1]), -2.0);
  EXPECT_EQ(NumberOf(list[2]), 2.5);
  EXPECT_EQ(NumberOf(list[3]), 1e23);
  EXPECT_EQ(LongDigits(list[3]), "100000000000000000000000");
  EXPECT_EQ(NumberOf(list[4]), std::nullopt);
  EXPECT_EQ(NumberOf(list[5]), std::nullopt);
  EXPECT_EQ(LongDigits(list[0]), std::nullopt);
}

TEST(ToJsonText, NumbersReadBackAsTheSameBits) {
  for (const double value : {0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -745.13321910194110}) {
    const std::string text = ToJsonText(OrderedJson::array({value}));
    EXPECT_EQ(ParseJson(text, kMaxValues).value().at(0).get<double>(), value);
  }
}

}  // namespace json_text_test
}  // namespace scorecast::coordinator
