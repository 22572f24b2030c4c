#include "proto/base/expected.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace scorecast::proto {
namespace expected_test {

Expected<int> Half(int number) {
  if (number % 2 != 0) {
    return Unexpected(Error{400, "odd", "Odd: " + std::to_string(number), "number"});
  }
  return number / 2;
}

TEST(Expected, HoldsAValue) {
  const Expected<int> half = Half(8);
  ASSERT_TRUE(half.has_value());
  EXPECT_TRUE(static_cast<bool>(half));
  EXPECT_EQ(half.value(), 4);
  EXPECT_EQ(*half, 4);
}

TEST(Expected, HoldsAnError) {
  const Expected<int> half = Half(7);
  ASSERT_FALSE(half.has_value());
  EXPECT_FALSE(static_cast<bool>(half));
  EXPECT_EQ(half.error().code, 400);
  EXPECT_EQ(half.error().reason, "odd");
  EXPECT_EQ(half.error().message, "Odd: 7");
  EXPECT_EQ(half.error().param, "number");
}

TEST(Expected, ValueAndErrorMayBeOfOneType) {
  using Word = Expected<std::string, std::string>;
  const Word value = std::string("yes");
  const Word error = Unexpected(std::string("no"));
  EXPECT_EQ(value.value(), "yes");
  EXPECT_EQ(error.error(), "no");
}

TEST(Expected, ValueCanBeChangedInPlace) {
  Expected<std::string> word = std::string("a");
  *word += "b";
  word->push_back('c');
  EXPECT_EQ(word.value(), "abc");
  EXPECT_EQ(std::as_const(word)->size(), 3U);
}

TEST(Expected, BothSidesMayBeMoveOnly) {
  using Pointer = std::unique_ptr<int>;
  Expected<Pointer> value = std::make_unique<int>(5);
  const Pointer taken = *std::move(value);
  EXPECT_EQ(*taken, 5);
  Expected<int, Pointer> error = Unexpected(std::make_unique<int>(6));
  const Pointer reason = std::move(error).error();
  EXPECT_EQ(*reason, 6);
}

TEST(ExpectedDeathTest, TheMissingSideIsABrokenInvariant) {
  EXPECT_DEATH(static_cast<void>(Half(7).value()), "broken invariant.*not there");
  EXPECT_DEATH(static_cast<void>(Half(8).error()), "broken invariant.*not there");
}

}  // namespace expected_test
}  // namespace scorecast::proto
