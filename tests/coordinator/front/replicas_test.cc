#include "coordinator/front/replicas.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/captured_log.h"
#include "tests/coordinator/front/front_fixture.h"

namespace scorecast::coordinator {
namespace replicas_test {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReplicasTest : public FrontFixture {
 protected:
  std::vector<std::string> MembersOf(const std::string& model) {
    const ReplicaGroup* const group = replicas_.groups().ByModel(model);
    return group == nullptr ? std::vector<std::string>{} : group->members;
  }
};

TEST_F(ReplicasTest, FormGroups) {
  b_.hello = FactsOf("other");
  ASSERT_TRUE(StartWith(2));
  EXPECT_THAT(MembersOf("m"), ElementsAre("a"));
  EXPECT_THAT(MembersOf("other"), ElementsAre("b"));
}

TEST_F(ReplicasTest, OneThatDiffersIsRefusedOnceInTheLog) {
  b_.hello.set_dtype("int8");
  const CapturedLog log;
  ASSERT_TRUE(StartWith(1));
  ASSERT_TRUE(Run([this] { return b_.greeted + a_.greeted == 2; }));
  ASSERT_TRUE(Run([&] { return log.text().find("differs") != std::string::npos; }));
  const std::string first = log.text();
  EXPECT_THAT(first, HasSubstr("dtype"));
  const auto refusals = [&] {
    const std::string text = log.text();
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find("differs", at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  };
  EXPECT_EQ(refusals(), 1U);
  // The one that is refused connects again, and says the same.
  FakeReplica& refused = MembersOf("m").at(0) == "a" ? b_ : a_;
  const int greeted = refused.greeted;
  refused.Die();
  refused.Revive();
  ASSERT_TRUE(Run([&] { return refused.greeted > greeted; }));
  io_.restart();
  io_.run_for(std::chrono::milliseconds(20));
  EXPECT_EQ(refusals(), 1U);
  // It comes back as the other one is.
  refused.Die();
  refused.hello = FactsOf("m");
  refused.hello.set_dtype(&refused == &a_ ? b_.hello.dtype() : a_.hello.dtype());
  refused.Revive();
  EXPECT_TRUE(Run([this] { return Usable() == 2; }));
  EXPECT_THAT(log.text(), HasSubstr("is used"));
}

TEST_F(ReplicasTest, CannotBeUsedWhileTheyAreNotReadyOrDrain) {
  ASSERT_TRUE(StartWith(2));
  a_.status.set_ready(false);
  a_.SayStatus();
  ASSERT_TRUE(Run([this] { return Usable() == 1; }));
  EXPECT_THAT(MembersOf("m"), ElementsAre("a", "b"));
  b_.status.set_draining(true);
  b_.SayStatus();
  ASSERT_TRUE(Run([this] { return Usable() == 0; }));
  EXPECT_THAT(MembersOf("m"), ElementsAre("a")) << "one that drains does not count";
  a_.status.set_ready(true);
  a_.SayStatus();
  EXPECT_TRUE(Run([this] { return Usable() == 1; }));
}

TEST_F(ReplicasTest, AreDrainedAndUsedAgain) {
  a_.holds = true;
  b_.holds = true;
  ASSERT_TRUE(StartWith(2));
  Forward("1");
  Forward("2");
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1 && b_.held.size() == 1; }));
  EXPECT_EQ(replicas_.Drain("a", /*undo=*/false).value(), 1U);
  EXPECT_TRUE(replicas_.IsDrained("a"));
  EXPECT_THAT(MembersOf("m"), ElementsAre("b"));
  a_.SayStatus();
  Forward("3");
  ASSERT_TRUE(Run([this] { return b_.held.size() == 2; }));
  EXPECT_EQ(replicas_.Drain("a", /*undo=*/false).value(), 1U) << "it still has a request";
  a_.AnswerAll();
  ASSERT_TRUE(Run([this] { return ended_ == 1; }));
  EXPECT_EQ(replicas_.Drain("a", /*undo=*/false).value(), 0U);
  // It is started anew, and is drained as before.
  a_.Die();
  a_.Revive();
  ASSERT_TRUE(Run([this] { return a_.greeted == 2; }));
  a_.SayStatus();
  io_.restart();
  io_.run_for(std::chrono::milliseconds(5));
  EXPECT_THAT(MembersOf("m"), ElementsAre("b"));
  EXPECT_EQ(replicas_.Drain("a", /*undo=*/true).value(), 0U);
  EXPECT_THAT(MembersOf("m"), ElementsAre("a", "b"));
  EXPECT_FALSE(replicas_.IsDrained("a"));
}

TEST_F(ReplicasTest, TheLastOneOfAModelIsNotDrained) {
  b_.hello = FactsOf("other");
  ASSERT_TRUE(StartWith(2));
  const auto drained = replicas_.Drain("a", /*undo=*/false);
  ASSERT_FALSE(drained);
  EXPECT_EQ(drained.error().code, 409);
  EXPECT_EQ(drained.error().reason, "last_replica");
  EXPECT_THAT(MembersOf("m"), ElementsAre("a"));
  const auto unknown = replicas_.Drain("c", /*undo=*/false);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, 404);
  EXPECT_THAT(unknown.error().message, HasSubstr("a, b"));
}

TEST_F(ReplicasTest, OneThatIsDrainedMayLeaveTheList) {
  ASSERT_TRUE(StartWith(2));
  EXPECT_EQ(replicas_.Drain("a", /*undo=*/false).value(), 0U);
  replicas_.SetList({{"b", b_.address()}});
  EXPECT_TRUE(replicas_.IsDrained("a"));
  EXPECT_EQ(replicas_.Drain("a", /*undo=*/true).value(), 0U);
  EXPECT_FALSE(replicas_.IsDrained("a"));
  EXPECT_FALSE(replicas_.Drain("a", /*undo=*/true));
}

TEST_F(ReplicasTest, MoveAndVanish) {
  ASSERT_TRUE(StartWith(2));
  a_.holds = true;
  b_.holds = true;
  Forward("1");
  Forward("2");
  ASSERT_TRUE(Run([this] { return a_.held.size() == 1 && b_.held.size() == 1; }));
  FakeReplica moved(io_, "moved");
  replicas_.SetList({{"a", moved.address()}});
  ASSERT_TRUE(Run([&] { return moved.greeted == 1; }));
  ASSERT_TRUE(Run([this] { return Usable() == 1; }));
  EXPECT_THAT(MembersOf("m"), ElementsAre("a"));
  Forward("3");
  EXPECT_EQ(EndOf("3"), "moved:3");
  a_.AnswerAll();
  b_.AnswerAll();
  EXPECT_THAT(EndOf("2"), HasSubstr(":2")) << "who leaves the list replies to what it has";
  EXPECT_THAT(EndOf("1"), HasSubstr(":1"));
}

}  // namespace replicas_test
}  // namespace scorecast::coordinator
