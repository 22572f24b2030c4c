#include "proto/base/nearest_name.h"

#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace scorecast::proto {
namespace nearest_name_test {

constexpr std::array<std::string_view, 5> kFields = {"query", "items", "documents", "top_n",
                                                     "instruction"};

TEST(NearestName, HasAThirdOfTypingErrors) {
  EXPECT_EQ(NearestName("qeury", kFields), "query") << "two characters are swapped";
  EXPECT_EQ(NearestName("quer", kFields), "query");
  EXPECT_EQ(NearestName("queryy", kFields), "query");
  EXPECT_EQ(NearestName("guery", kFields), "query");
  EXPECT_EQ(NearestName("item", kFields), "items");
  EXPECT_EQ(NearestName("document", kFields), "documents");
  EXPECT_EQ(NearestName("quxxx", kFields), "");
}

TEST(NearestName, OrIsAbbreviated) {
  EXPECT_EQ(NearestName("docs", kFields), "documents");
  EXPECT_EQ(NearestName("instruction_text", kFields), "instruction");
  EXPECT_EQ(NearestName("do", kFields), "");
  EXPECT_EQ(NearestName("ocuments_of", kFields), "");
}

TEST(NearestName, IsTheOneWithTheFewestErrors) {
  constexpr std::array<std::string_view, 3> kCommands = {"server", "serve", "score"};
  EXPECT_EQ(NearestName("sevre", kCommands), "serve");
  EXPECT_EQ(NearestName("scorr", kCommands), "score");
}

TEST(NearestName, IsNoneOfLongOrEmptyOnes) {
  const std::string long_name(65, 'a');
  const std::array<std::string_view, 2> names = {long_name, ""};
  EXPECT_EQ(NearestName(long_name, names), "");
  EXPECT_EQ(NearestName("", names), "");
  EXPECT_EQ(NearestName("a", names), "");
  EXPECT_EQ(NearestName("query", {}), "");
}

}  // namespace nearest_name_test
}  // namespace scorecast::proto
