#include "coordinator/front/clients/named_model.h"

#include <string>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace named_model_test {

TEST(NamedModelTest, IsTheMemberOfTheOutermostObject) {
  EXPECT_EQ(ModelInJson(R"({"model":"m"})"), "m");
  EXPECT_EQ(ModelInJson(R"( { "a" : [1, {"model": "x"}, "]}"], "model" : "m" } )"), "m");
  EXPECT_EQ(ModelInJson(R"({"a":{"model":"x"},"b":-1.5e3,"c":null,"model":"m","d":2})"), "m");
  EXPECT_EQ(ModelInJson(R"({"a":"\"model\":\\","model":"m"})"), "m");
  EXPECT_EQ(ModelInJson(R"({"model":"\u00e4\"b"})"), "\xc3\xa4\"b");
}

TEST(NamedModelTest, IsEmptyIfThereIsNone) {
  for (const std::string json :
       {"", "{}", "[]", R"(["model","m"])", R"({"model":1})", R"({"model":null})",
        R"({"a":{"model":"x"}})", R"({"a":"model"})", R"({"model)", R"({"model")", R"({"model":)",
        R"({"model":"m)", R"({"a":[)", R"({"a":"\)", R"({"a" "model":"m"})", R"({"a":],"model":1})",
        "{\"a\":}", "{,}", "{\"\\"}) {
    EXPECT_EQ(ModelInJson(json), "") << json;
  }
}

TEST(NamedModelTest, ManyNestedListsAreNoFault) {
  const std::string deep(100'000, '[');
  EXPECT_EQ(ModelInJson("{\"a\":" + deep), "");
  EXPECT_EQ(ModelInJson("{\"a\":" + deep + std::string(100'000, ']') + R"(,"model":"m"})"), "m");
}

}  // namespace named_model_test
}  // namespace scorecast::coordinator
