#include "coordinator/transports/connection/fair_share.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace fair_share_test {

/// Leaves that always wait, and the seconds that their turns take.
class Shares : public ::testing::Test {
 protected:
  FairShare& Leaf(FairShare& parent, double seconds) {
    leaves_.push_back(std::make_unique<FairShare>(parent));
    seconds_[leaves_.back().get()] = seconds;
    leaves_.back()->Wait();
    return *leaves_.back();
  }

  /// One turn. Returns its leaf, which waits again.
  FairShare& Turn() {
    FairShare& leaf = root_.Begin();
    leaf.End(seconds_.at(&leaf));
    used_[&leaf] += seconds_.at(&leaf);
    leaf.Wait();
    return leaf;
  }

  /// The last turn of all that wait, so that the leaves can be destroyed.
  void TearDown() override {
    while (root_.has_waiting()) {
      root_.Begin().End(0);
    }
  }

  FairShare root_;
  std::vector<std::unique_ptr<FairShare>> leaves_;
  std::map<const FairShare*, double> seconds_;
  std::map<const FairShare*, double> used_;
};

TEST_F(Shares, HaveEqualTimeAndNotEqualNumbersOfTurns) {
  const FairShare& slow = Leaf(root_, 10);
  const FairShare& fast = Leaf(root_, 1);
  for (int i = 0; i < 220; ++i) {
    Turn();
  }
  EXPECT_NEAR(used_[&slow], used_[&fast], 10);
  EXPECT_NEAR(used_[&slow] + used_[&fast], 400, 20);
}

TEST_F(Shares, AreDividedFirstAmongTheUpperOnes) {
  FairShare& many = root_.Named("many");
  for (int i = 0; i < 50; ++i) {
    Leaf(many, 1);
  }
  const FairShare& one = Leaf(root_.Named("one"), 1);
  for (int i = 0; i < 200; ++i) {
    Turn();
  }
  EXPECT_NEAR(used_[&one], 100, 1);
  for (int i = 0; i < 50; ++i) {
    EXPECT_NEAR(used_[leaves_[i].get()], 2, 1) << i;
  }
}

TEST_F(Shares, SaveUpNothingWhileTheyDoNotWait) {
  Leaf(root_, 1);
  for (int i = 0; i < 100; ++i) {
    Turn();
  }
  const FairShare& back = Leaf(root_, 1);
  int its_own = 0;
  for (int i = 0; i < 5; ++i) {
    its_own += &Turn() == &back ? 1 : 0;
  }
  EXPECT_GE(its_own, 2) << "it is not behind";
  EXPECT_LE(its_own, 3) << "it is not ahead";
}

TEST_F(Shares, BeginAtOnceIfTheOthersHaveUsedMore) {
  Leaf(root_, 1);
  for (int i = 0; i < 100; ++i) {
    Turn();
  }
  FairShare& running = root_.Begin();
  const FairShare& back = Leaf(root_, 1);
  running.End(1);
  running.Wait();
  EXPECT_EQ(&Turn(), &back);
}

TEST_F(Shares, OweATurnAlthoughTheyDidNotWaitAtItsEnd) {
  Leaf(root_, 1);
  FairShare& slow = Leaf(root_, 50);
  while (root_.has_waiting()) {
    FairShare& leaf = root_.Begin();
    leaf.End(seconds_.at(&leaf));
    if (&leaf == &slow) {
      break;
    }
    leaf.Wait();
  }
  slow.Wait();
  int before = 0;
  while (&Turn() != &slow) {
    ++before;
  }
  EXPECT_NEAR(before, 50, 2);
}

TEST_F(Shares, OfTurnsThatAreUnderWayCountAsLongAsUsual) {
  FairShare& many = root_.Named("many");
  for (int i = 0; i < 4; ++i) {
    Leaf(many, 1);
  }
  for (int i = 0; i < 20; ++i) {
    Turn();
  }
  const FairShare& one = Leaf(root_.Named("one"), 1);
  FairShare& first = root_.Begin();
  FairShare& second = root_.Begin();
  EXPECT_TRUE(&first == &one || &second == &one);
  for (FairShare* const leaf : {&first, &second}) {
    leaf->End(1);
    leaf->Wait();
  }
}

TEST_F(Shares, AreForgottenWhenTheirTimeIsNotAheadOfTheOthers) {
  Leaf(root_.Named("stays"), 1);
  {
    FairShare gone(root_.Named("slow").Named("inner"));
    gone.Wait();
    FairShare* leaf = &root_.Begin();
    while (leaf != &gone) {
      leaf->End(1);
      leaf->Wait();
      leaf = &root_.Begin();
    }
    gone.End(50);
  }
  EXPECT_EQ(root_.named(), 2) << "a new connection of it does not begin anew";
  for (int i = 0; i < 60; ++i) {
    Turn();
  }
  { const FairShare short_lived(root_.Named("other")); }
  EXPECT_EQ(root_.named(), 1);
}

TEST_F(Shares, ThatHaveNoTurnAreForgottenAtOnce) {
  { const FairShare short_lived(root_.Named("network").Named("address")); }
  EXPECT_EQ(root_.named(), 0);
}

}  // namespace fair_share_test
}  // namespace scorecast::coordinator
