#include "coordinator/transports/connection/text_backlog.h"

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace text_backlog_test {

constexpr std::int64_t kMega = 1'000'000;

/// A backlog of a tokenizer that makes a megabyte a second, and refuses what waits for more than
/// ten seconds.
class TextBacklogTest : public ::testing::Test {
 protected:
  TextBacklogTest() { backlog_.NoteDone(kMega, 1); }

  static ClientId From(const std::string& address, std::uint64_t connection = 0) {
    return {address, connection};
  }

  bool Add(const ClientId& client, std::int64_t bytes) { return !Refusal(client, bytes); }

  std::optional<proto::Error> Refusal(const ClientId& client, std::int64_t bytes) {
    auto added = backlog_.Add(client, bytes, now_);
    if (!added) {
      return added.error();
    }
    held_.push_back(*std::move(added));
    return std::nullopt;
  }

  const Clock::time_point now_;
  TextBacklog backlog_{10, 1};
  std::vector<Held> held_;
};

TEST_F(TextBacklogTest, RefusesWhatWouldWaitTooLong) {
  EXPECT_TRUE(Add(From("a"), 6 * kMega));
  EXPECT_TRUE(Add(From("a"), 4 * kMega));
  EXPECT_TRUE(Add(From("a"), 2 * kMega));
  const auto refusal = Refusal(From("a"), 2 * kMega);
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->code, 429);
  EXPECT_EQ(refusal->reason, "wait_too_long");
  EXPECT_EQ(refusal->message,
            "The request would have to wait too long to be tokenized: 12.0 s > 10.0 s.");
  EXPECT_EQ(refusal->retry_after_seconds, 2);
}

TEST_F(TextBacklogTest, AnAddressIsToldTimesThatAreApart) {
  Add(From("a"), 12 * kMega);
  EXPECT_EQ(Refusal(From("a"), 3 * kMega)->retry_after_seconds, 2);
  EXPECT_EQ(Refusal(From("a"), 3 * kMega)->retry_after_seconds, 5);
  EXPECT_EQ(Refusal(From("a"), 3 * kMega)->retry_after_seconds, 8);
}

TEST_F(TextBacklogTest, WhatIsDoneCountsNoMore) {
  Add(From("a"), 12 * kMega);
  EXPECT_FALSE(Add(From("a"), kMega));
  held_.clear();
  EXPECT_TRUE(Add(From("a"), kMega));
}

TEST_F(TextBacklogTest, OtherAddressesGetAsMuchTimeUntilThen) {
  Add(From("a"), 100 * kMega);
  Add(From("b"), 1 * kMega);
  // The others have 5 + 1 MB before 5 MB are done.
  EXPECT_TRUE(Add(From("c"), 5 * kMega));
  // 1 + 5 MB, and 10 of a's 100.
  EXPECT_FALSE(Add(From("d"), 10 * kMega));
}

TEST_F(TextBacklogTest, OtherConnectionsGetAsMuchTimeUntilThen) {
  for (std::uint64_t connection = 1; connection <= 4; ++connection) {
    Add(From("a", connection), 3 * kMega);
  }
  EXPECT_FALSE(Add(From("a", 5), 3 * kMega));
  EXPECT_TRUE(Add(From("a", 5), 2 * kMega));
  EXPECT_FALSE(Add(From("a", 1), kMega)) << "that of its connection goes before it";
}

TEST_F(TextBacklogTest, AShortTextOfAnAddressWithoutAnotherIsNeverRefused) {
  TextBacklog strict(0, 1);
  strict.NoteDone(kMega, 1);
  const auto other = strict.Add(From("a"), kMega, now_);
  const auto first = strict.Add(From("b"), 2000, now_);
  EXPECT_TRUE(first.has_value());
  EXPECT_FALSE(strict.Add(From("b", 1), 2000, now_).has_value());
  EXPECT_FALSE(strict.Add(From("c"), kMega, now_).has_value());
}

TEST_F(TextBacklogTest, NothingIsRefusedBeforeTheFirstIsDone) {
  TextBacklog fresh(10, 1);
  const auto first = fresh.Add(From("a"), 1000 * kMega, now_);
  EXPECT_TRUE(fresh.Add(From("a"), 1000 * kMega, now_).has_value());
}

TEST_F(TextBacklogTest, WithoutALimitNothingIsRefused) {
  TextBacklog unlimited(std::numeric_limits<double>::infinity(), 1);
  unlimited.NoteDone(1, 1);
  const auto first = unlimited.Add(From("a"), 1000 * kMega, now_);
  EXPECT_TRUE(unlimited.Add(From("a"), 1000 * kMega, now_).has_value());
}

TEST_F(TextBacklogTest, TheLatestRequestsCountMost) {
  for (int i = 0; i < 10; ++i) {
    backlog_.NoteDone(40 * kMega, 4);
  }
  Add(From("a"), 80 * kMega);
  EXPECT_TRUE(Add(From("a"), kMega));
  Add(From("a"), 30 * kMega);
  EXPECT_FALSE(Add(From("a"), kMega));
}

TEST_F(TextBacklogTest, SeveralAreTokenizedAtTheSameTime) {
  TextBacklog two(10, 2);
  two.NoteDone(kMega, 1);
  const auto first = two.Add(From("a"), 19 * kMega, now_);
  const auto second = two.Add(From("a"), 2 * kMega, now_);
  EXPECT_TRUE(second.has_value());
  EXPECT_FALSE(two.Add(From("a"), kMega, now_).has_value());
}

}  // namespace text_backlog_test
}  // namespace scorecast::coordinator
