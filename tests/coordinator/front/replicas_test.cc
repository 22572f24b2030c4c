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
