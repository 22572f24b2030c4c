#include "coordinator/json/json_writer.h"

#include <cstddef>
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
