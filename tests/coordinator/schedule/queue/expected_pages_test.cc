#include "coordinator/schedule/queue/expected_pages.h"

#include <cstdint>
#include <map>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace expected_pages_test {

using Entry = ExpectedPages::Entry;
using Pages = std::vector<std::uint64_t>;

const Entry kFirst = {1, 0};
const Entry kSecond = {1, 1};
const Entry kThird = {2, 0};

TEST(ExpectedPages, APageIsOfTheSequenceThatNamedItFirst) {
  ExpectedPages expected;
  expected.Add(kFirst, Pages{10, 11});
  expected.Add(kSecond, Pages{10, 12});
  EXPECT_FALSE(expected.IsOfAnother(kFirst, 10));
  EXPECT_TRUE(expected.IsOfAnother(kSecond, 10));
  EXPECT_FALSE(expected.IsOfAnother(kSecond, 12));
  EXPECT_FALSE(expected.IsOfAnother(kThird, 13));
}

TEST(ExpectedPages, WhatIsComputedIsNotExpected) {
  ExpectedPages expected;
  expected.Add(kFirst, Pages{10});
  expected.Add(kSecond, Pages{10});
  expected.Remove(kFirst, Pages{10});
  EXPECT_FALSE(expected.has_left_over());
  EXPECT_FALSE(expected.IsOfAnother(kSecond, 10));
  expected.Add(kThird, Pages{10});
  EXPECT_TRUE(expected.IsOfAnother(kSecond, 10)) << "it was evicted meanwhile";
}

TEST(ExpectedPages, PagesOfADroppedSequenceAreThoseOfAnother) {
  ExpectedPages expected;
  expected.Add(kFirst, Pages{10, 11});
  expected.Add(kSecond, Pages{10});
  expected.Drop(kFirst, Pages{10, 11});
  ASSERT_TRUE(expected.has_left_over());
  EXPECT_TRUE(expected.TakeLeftOver(kSecond, Pages{10}));
  EXPECT_FALSE(expected.has_left_over());
  EXPECT_TRUE(expected.IsOfAnother(kThird, 10));
}

TEST(ExpectedPages, ASequenceMayHaveAPageTwice) {
  ExpectedPages expected;
  expected.Add(kFirst, Pages{10, 10});
  EXPECT_FALSE(expected.IsOfAnother(kFirst, 10));
  expected.Drop(kFirst, Pages{10, 10});
  EXPECT_FALSE(expected.has_left_over());
  EXPECT_EQ(expected.size(), 0U);
}

TEST(ExpectedPages, NothingIsKeptOfWhatLeft) {
  std::mt19937 random(20261123);
  const auto pick = [&](int most) { return std::uniform_int_distribution(0, most)(random); };
  ExpectedPages expected;
  std::map<Entry, Pages> waiting;
  for (std::uint64_t step = 0; step < 5000; ++step) {
    if (pick(1) == 0) {
      const Entry entry = {step, 0};
      for (int i = pick(6); i >= 0; --i) {
        waiting[entry].push_back(static_cast<std::uint64_t>(pick(20)));
      }
      expected.Add(entry, waiting[entry]);
    } else if (!waiting.empty()) {
      const auto leaves = std::next(waiting.begin(), pick(static_cast<int>(waiting.size()) - 1));
      const auto [entry, pages] = *leaves;
      waiting.erase(leaves);
      pick(1) == 0 ? expected.Remove(entry, pages) : expected.Drop(entry, pages);
      for (const auto& [other, of_other] : waiting) {
        expected.TakeLeftOver(other, of_other);
      }
      ASSERT_FALSE(expected.has_left_over());
    }
    std::set<std::uint64_t> all;
    for (const auto& [entry, pages] : waiting) {
      all.insert(pages.begin(), pages.end());
    }
    ASSERT_EQ(expected.size(), all.size());
  }
}

}  // namespace expected_pages_test
}  // namespace scorecast::coordinator
