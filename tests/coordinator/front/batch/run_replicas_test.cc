#include "coordinator/front/batch/run_replicas.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordinator/front/front_fixture.h"

namespace scorecast::coordinator {
namespace run_replicas_test {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RunReplicasTest : public FrontFixture {
 protected:
  bool IsFound() {
    const auto found = FindRunReplicas(replicas_);
    return found && found->has_value();
  }
};

TEST_F(RunReplicasTest, AreThoseOfTheOnlyModel) {
  a_.hello.set_max_values(77);
  b_.hello = a_.hello;
  ASSERT_TRUE(StartWith(2));
  ASSERT_TRUE(IsFound());
  const RunReplicas found = **FindRunReplicas(replicas_);
  EXPECT_EQ(found.facts, ReplicaFacts::Of(a_.hello));
  EXPECT_EQ(found.max_request_bytes, a_.hello.max_request_bytes());
  EXPECT_EQ(found.max_values, 77);
}

TEST_F(RunReplicasTest, AreNotFoundBeforeEachHasSaidWhatItIs) {
  a_.is_silent = true;
  ASSERT_TRUE(StartWith(1));
  EXPECT_FALSE(IsFound());
  a_.is_silent = false;
  a_.Die();
  a_.Revive();
  EXPECT_TRUE(Run([this] { return IsFound(); }));
}

TEST_F(RunReplicasTest, OfSeveralModelsAreAFault) {
  b_.hello = FactsOf("other");
  ASSERT_TRUE(StartWith(2));
  const auto found = FindRunReplicas(replicas_);
  ASSERT_FALSE(found);
  EXPECT_THAT(found.error(), AllOf(HasSubstr("\"m\""), HasSubstr("\"other\"")));
}

TEST_F(RunReplicasTest, SettingsTellReplicasApart) {
  const ReplicaFacts facts = ReplicaFacts::Of(FactsOf("m"));
  EXPECT_EQ(Differences(RunSettingsOf(facts), RunSettingsOf(facts)), "");
  ReplicaFacts other = facts;
  other.dtype = "int8";
  other.version = "2.0";
  EXPECT_EQ(Differences(RunSettingsOf(facts), RunSettingsOf(other)),
            "the replicas' --dtype was bf16 and is int8, the replicas' version of scorecast was "
            "1.0 and is 2.0");
}

}  // namespace run_replicas_test
}  // namespace scorecast::coordinator
