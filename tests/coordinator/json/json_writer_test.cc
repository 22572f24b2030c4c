#include "coordinator/json/json_writer.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace scorecast::coordinator {
namespace json_writer_test {

TEST(JsonWriter, WritesWhatToJsonTextWrites) {
  std::string text;
  JsonWriter writer([&](std::string_view piece) { text += piece; });
  writer.BeginObject();
  writer.Member("a \"b\"\n", "é \xFF");
  writer.Key("empty");
  writer.BeginObject();
  writer.EndObject();
  writer.Key("lists");
  writer.BeginList();
  writer.BeginList();
  writer.EndList();
  writer.BeginList();
  writer.Value(1.0);
  writer.Value({1, -0.0, 5e-324});
  writer.EndList();
  writer.Value(nullptr);
  writer.EndList();
  writer.Member("last", true);
  writer.EndObject();
  writer.Finish();
  OrderedJson json;
  json["a \"b\"\n"] = "é \xFF";
  json["empty"] = OrderedJson::object();
  json["lists"] = {OrderedJson::array(),
                   OrderedJson::array({1.0, OrderedJson::array({1, -0.0, 5e-324})}), nullptr};
  json["last"] = true;
  EXPECT_EQ(text, ToJsonText(json));
}

TEST(JsonWriter, NumbersAndTextsAreThoseOfToJsonText) {
  std::vector<double> numbers = {0.0,     -0.0,         1.0,
                                 100.0,   1e15,         1e16,
                                 1e17,    -1e-5,        0.001,
                                 5e-324,  1.7e308,      9007199254740993.0,
                                 1.0 / 3, std::nan(""), -std::numeric_limits<double>::infinity()};
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    numbers.push_back(std::bit_cast<double>(random()));
    numbers.push_back(std::ldexp(static_cast<double>(random()), -64));
  }
  std::vector<std::string> texts = {"", "é \xFF\xC3", "\xED\xA0\x80", "\xF0\x9F\x98\x80"};
  for (int c = 0; c < 256; ++c) {
    texts.push_back("a" + std::string(1, static_cast<char>(c)) + "b");
  }
  std::string text = "before ";
  JsonWriter writer(text);
  writer.BeginList();
  for (const double number : numbers) {
    writer.Number(number);
  }
  for (const std::string& one : texts) {
    writer.Text(one);
  }
  writer.Integer(std::numeric_limits<std::int64_t>::min());
  writer.Unsigned(std::numeric_limits<std::uint64_t>::max());
  writer.BeginObject();
  writer.JsonKey(R"("key":)");
  writer.Json("[true]");
  writer.Key("next");
  writer.Integer(-7);
  writer.EndObject();
  writer.EndList();
  writer.Finish();
  OrderedJson list = OrderedJson::array();
  for (const double number : numbers) {
    list.push_back(number);
  }
  for (const std::string& one : texts) {
    list.push_back(one);
  }
  list.push_back(std::numeric_limits<std::int64_t>::min());
  list.push_back(std::numeric_limits<std::uint64_t>::max());
  OrderedJson& object = list.emplace_back();
  object["key"] = OrderedJson::array({true});
  object["next"] = -7;
  EXPECT_EQ(text, "before " + ToJsonText(list));
}

TEST(JsonWriter, HoldsNoMoreThanAPiece) {
  std::vector<std::size_t> pieces;
  JsonWriter writer([&](std::string_view piece) { pieces.push_back(piece.size()); });
  const std::string value(1000, 'x');
  writer.BeginList();
  for (int i = 0; i < 500; ++i) {
    writer.Value(value);
  }
  writer.EndList();
  writer.Finish();
  ASSERT_GT(pieces.size(), 5u);
  std::size_t sum = 0;
  for (const std::size_t piece : pieces) {
    sum += piece;
    EXPECT_LT(piece, std::size_t{70'000});
  }
  EXPECT_EQ(sum, 500 * 1003 + 1u);
}

}  // namespace json_writer_test
}  // namespace scorecast::coordinator
