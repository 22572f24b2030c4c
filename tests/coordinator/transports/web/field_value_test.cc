#include "coordinator/transports/web/field_value.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/transports/web/request_id.h"

namespace scorecast::coordinator {
namespace field_value_test {

using ::testing::MatchesRegex;

TEST(ContentType, MustBeJson) {
  for (const std::string type :
       {"", "application/json", "Application/JSON ; charset=utf-8", "application/vnd.api+json"}) {
    EXPECT_FALSE(ContentTypeFault(type)) << type;
  }
  for (const std::string type :
       {"text/plain", "application/jsonx", "application/x-www-form-urlencoded"}) {
    ASSERT_TRUE(ContentTypeFault(type)) << type;
    EXPECT_EQ(ContentTypeFault(type)->code, 415);
  }
}

TEST(EntityTag, IsNamedByItselfInAListOrByAnAsterisk) {
  for (const std::string names : {R"("a")", R"(W/"a")", R"("b", "a")", R"("b,",W/"a" , "c")", " * ",
                                  R"("b" "a")", R"("a", b)"}) {
    EXPECT_TRUE(NamesEntityTag(names, R"("a")")) << names;
  }
  for (const std::string names : {"", "a", R"("A")", R"("b", "aa")", R"("b", a")", R"(w/"a")",
                                  R"("b, "a")", R"("a)", "*, b", R"(b, "a")"}) {
    EXPECT_FALSE(NamesEntityTag(names, R"("a")")) << names;
  }
}

TEST(RequestIdOf, IsTheGivenOneIfItIsHarmless) {
  for (const std::string& id :
       std::vector<std::string>{"a", "3f2a-11:x/y+z=@_.", std::string(128, 'x')}) {
    EXPECT_EQ(RequestId(id), id);
  }
  for (const std::string& id :
       std::vector<std::string>{"", "a b", "a\nb", "\xc3\xa4", "a\"", std::string(129, 'x')}) {
    EXPECT_THAT(RequestId(id), MatchesRegex("[0-9a-f]{16}")) << id;
  }
  EXPECT_NE(RequestId(""), RequestId(""));
}

}  // namespace field_value_test
}  // namespace scorecast::coordinator
