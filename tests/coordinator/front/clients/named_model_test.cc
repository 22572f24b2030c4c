#include "coordinator/front/clients/named_model.h"

#include <cstdint>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace named_model_test {

std::string ModelIn(const std::string& json) { return NamedInJson(json).model; }

std::optional<std::int64_t> TimeoutIn(const std::string& json) {
  return NamedInJson(json).timeout_ms;
}

TEST(NamedModelTest, IsTheMemberOfTheOutermostObject) {
  EXPECT_EQ(ModelIn(R"({"model":"m"})"), "m");
  EXPECT_EQ(ModelIn(R"( { "a" : [1, {"model": "x"}, "]}"], "model" : "m" } )"), "m");
  EXPECT_EQ(ModelIn(R"({"a":{"model":"x"},"b":-1.5e3,"c":null,"model":"m","d":2})"), "m");
  EXPECT_EQ(ModelIn(R"({"a":"\"model\":\\","model":"m"})"), "m");
  EXPECT_EQ(ModelIn(R"({"model":"\u00e4\"b"})"), "\xc3\xa4\"b");
}

TEST(NamedModelTest, IsEmptyIfThereIsNone) {
  for (const std::string json :
       {"", "{}", "[]", R"(["model","m"])", R"({"model":1})", R"({"model":null})",
        R"({"a":{"model":"x"}})", R"({"a":"model"})", R"({"model)", R"({"model")", R"({"model":)",
        R"({"model":"m)", R"({"a":[)", R"({"a":"\)", R"({"a" "model":"m"})", R"({"a":],"model":1})",
        "{\"a\":}", "{,}", "{\"\\"}) {
    EXPECT_EQ(ModelIn(json), "") << json;
  }
}

TEST(NamedModelTest, TheTimeLimitIsFoundBesideIt) {
  EXPECT_EQ(TimeoutIn(R"({"model":"m","timeout_ms":1500})"), 1500);
  EXPECT_EQ(TimeoutIn(R"({"timeout_ms" : 1500 , "items":["a"],"model":"m"})"), 1500);
  EXPECT_EQ(ModelIn(R"({"timeout_ms" : 1500 , "items":["a"],"model":"m"})"), "m");
  EXPECT_EQ(TimeoutIn(R"({"timeout_ms":7})"), 7);
  EXPECT_EQ(TimeoutIn(R"({"items":[{"timeout_ms":7}],"model":"m"})"), std::nullopt);
  for (const std::string value : {"1.5", "1e3", "\"7\"", "null", "99999999999999999999", "[7]"}) {
    EXPECT_EQ(TimeoutIn("{\"timeout_ms\":" + value + "}"), std::nullopt) << value;
  }
}

TEST(NamedModelTest, ManyNestedListsAreNoFault) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(ModelIn("{\"a\":" + deep), "");
  EXPECT_EQ(ModelIn("{\"a\":" + deep + std::string(100'000, ']') + R"(,"model":"m"})"), "m");
}

}  // namespace named_model_test
}  // namespace scorecast::coordinator
