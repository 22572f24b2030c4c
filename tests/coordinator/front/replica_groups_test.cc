#include "coordinator/front/replica_groups.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace scorecast::coordinator {
namespace replica_groups_test {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Names = std::vector<std::string>;

ReplicaFacts Facts(const std::string& model, const std::string& dtype = "bf16") {
  return {.model = model,
          .kind = "a language model",
          .fingerprint = "0123",
          .dtype = dtype,
          .kernel_set = "avx512",
          .version = "1.0"};
}

/// The members of the group for a model; "none" if there is no group.
Names MembersFor(const ReplicaGroups& groups, const std::string& model) {
  const ReplicaGroup* const group = groups.ByModel(model);
  return group == nullptr ? Names{"none"} : group->members;
}

TEST(ReplicaGroups, FactsAreThoseOfTheGreeting) {
  v1::HelloReply hello;
  hello.set_model("m");
  hello.set_kind("a language model");
  hello.set_fingerprint("0123");
  hello.set_dtype("bf16");
  hello.set_kernel_set("avx512");
  hello.set_version("1.0");
  EXPECT_EQ(ReplicaFacts::Of(hello), Facts("m"));
}

TEST(ReplicaGroups, AreByModel) {
  ReplicaGroups groups;
  groups.SetListed({"a", "b", "c"});
  EXPECT_THAT(MembersFor(groups, ""), ElementsAre("none"));
  groups.Join("c", Facts("rerank"));
  groups.Join("b", Facts("embed"));
  groups.Join("a", Facts("embed"));
  EXPECT_THAT(MembersFor(groups, "embed"), ElementsAre("a", "b"));
  EXPECT_THAT(MembersFor(groups, "rerank"), ElementsAre("c"));
  EXPECT_THAT(MembersFor(groups, ""), ElementsAre("a", "b")) << "the first in the list";
  EXPECT_THAT(MembersFor(groups, "other"), ElementsAre("none"));
  EXPECT_FALSE(groups.MayCome("other"));
  groups.Leave("b");
  EXPECT_THAT(MembersFor(groups, "embed"), ElementsAre("a"));
  groups.Join("b", Facts("embed"));
  EXPECT_THAT(MembersFor(groups, "embed"), ElementsAre("a", "b"));
}

TEST(ReplicaGroups, AModelWhoseReplicasHaveGoneIsNotAnother) {
  ReplicaGroups groups;
  groups.SetListed({"a", "b"});
  groups.Join("a", Facts("embed"));
  groups.Join("b", Facts("rerank"));
  groups.Leave("a");
  EXPECT_THAT(MembersFor(groups, "embed"), IsEmpty());
  EXPECT_THAT(MembersFor(groups, ""), IsEmpty());
  groups.SetListed({"b"});
  EXPECT_THAT(MembersFor(groups, "embed"), ElementsAre("none"));
  EXPECT_THAT(MembersFor(groups, ""), ElementsAre("none"));
  EXPECT_THAT(MembersFor(groups, "other"), ElementsAre("none"));
  EXPECT_TRUE(groups.MayCome("embed"));
  EXPECT_TRUE(groups.MayCome(""));
  EXPECT_FALSE(groups.MayCome("other"));
  groups.SetListed({"b", "a"});
  groups.Join("a", Facts("embed"));
  EXPECT_THAT(MembersFor(groups, "embed"), ElementsAre("a"));
  EXPECT_THAT(MembersFor(groups, ""), ElementsAre("b")) << "the first in the list";
}

TEST(ReplicaGroups, AModelThatIsListedNoMoreIsForgotten) {
  ReplicaGroups groups;
  groups.SetListed({"a", "b"});
  groups.Join("a", Facts("embed"));
  groups.Join("b", Facts("rerank"));
  groups.Leave("a");
  groups.ForgetUnlisted();
  EXPECT_THAT(MembersFor(groups, ""), IsEmpty()) << "it is listed, and may come back";
  groups.SetListed({"b"});
  EXPECT_THAT(MembersFor(groups, ""), ElementsAre("none"));
  groups.ForgetUnlisted();
  EXPECT_THAT(MembersFor(groups, ""), ElementsAre("b"));
  EXPECT_THAT(MembersFor(groups, "other"), ElementsAre("b"))
      << "any name is that of the only model";
  EXPECT_THAT(MembersFor(groups, "embed"), ElementsAre("none")) << "but not that of another one";
  EXPECT_TRUE(groups.MayCome("embed"));
  groups.SetListed({"b", "c"});
  groups.Join("c", Facts("embed"));
  EXPECT_THAT(MembersFor(groups, "embed"), ElementsAre("c"));
  EXPECT_THAT(MembersFor(groups, ""), ElementsAre("b"));
  EXPECT_THAT(MembersFor(groups, "other"), ElementsAre("none")) << "there are two models";
}

TEST(ReplicaGroups, TheOnlyGroupTakesAnyNameIfAllAreKnown) {
  ReplicaGroups groups;
  groups.SetListed({"a", "b"});
  groups.Join("a", Facts("m"));
  EXPECT_THAT(MembersFor(groups, "gpt"), ElementsAre("none"));
  EXPECT_TRUE(groups.MayCome("gpt"));
  EXPECT_THAT(MembersFor(groups, ""), ElementsAre("a"));
  groups.Join("b", Facts("m"));
  groups.Leave("b");
  EXPECT_THAT(MembersFor(groups, "gpt"), ElementsAre("a"));
  groups.SetListed({});
  EXPECT_THAT(MembersFor(groups, "gpt"), ElementsAre("none"));
  EXPECT_TRUE(groups.MayCome("gpt"));
}

TEST(ReplicaGroups, AReplicaThatDoesNotSayWhatItIsKeepsNoNameWaiting) {
  ReplicaGroups groups;
  groups.SetListed({"a", "b"});
  groups.Join("a", Facts("m"));
  EXPECT_TRUE(groups.SetAbsent("b"));
  EXPECT_THAT(MembersFor(groups, "gpt"), ElementsAre("a"));
  EXPECT_FALSE(groups.SetAbsent("a")) << "it has said it";
  EXPECT_FALSE(groups.SetAbsent("c"));
  groups.Join("b", Facts("gpt"));
  EXPECT_THAT(MembersFor(groups, "gpt"), ElementsAre("b"));
}

TEST(ReplicaGroups, AModelThatAllItsReplicasHaveGivenUpIsForgotten) {
  ReplicaGroups groups;
  groups.SetListed({"a", "b"});
  groups.Join("a", Facts("old"));
  groups.Join("b", Facts("old"));
  groups.Leave("a");
  groups.Join("a", Facts("new"));
  EXPECT_THAT(MembersFor(groups, ""), ElementsAre("a")) << "the first in the list";
  EXPECT_THAT(MembersFor(groups, "gpt"), ElementsAre("none")) << "there are two models";
  groups.Leave("b");
  EXPECT_THAT(MembersFor(groups, "old"), IsEmpty()) << "it may come back";
  groups.Join("b", Facts("new"));
  EXPECT_THAT(MembersFor(groups, "old"), ElementsAre("a", "b"))
      << "any name is that of the only model";
  EXPECT_THAT(MembersFor(groups, ""), ElementsAre("a", "b"));
  EXPECT_THAT(MembersFor(groups, "gpt"), ElementsAre("a", "b"));
}

TEST(ReplicaGroups, SayWhatDiffers) {
  ReplicaGroups groups;
  groups.SetListed({"a", "b"});
  groups.Join("a", Facts("m"));
  ReplicaFacts other = Facts("m", "int8");
  other.version = "2.0";
  groups.Join("b", other);
  EXPECT_THAT(MembersFor(groups, "m"), ElementsAre("a"));
  EXPECT_EQ(groups.DifferenceOf("a"), "");
  EXPECT_EQ(groups.DifferenceOf("b"),
            "dtype \"int8\" instead of \"bf16\", version \"2.0\" instead of \"1.0\"");
  groups.Join("b", Facts("m"));
  EXPECT_THAT(MembersFor(groups, "m"), ElementsAre("a", "b")) << "it has come back as the others";
  EXPECT_EQ(groups.DifferenceOf("b"), "");
}

TEST(ReplicaGroups, EveryFactCounts) {
  for (std::string ReplicaFacts::*fact :
       {&ReplicaFacts::kind, &ReplicaFacts::fingerprint, &ReplicaFacts::dtype,
        &ReplicaFacts::kernel_set, &ReplicaFacts::version}) {
    ReplicaGroups groups;
    groups.SetListed({"a", "b"});
    groups.Join("a", Facts("m"));
    ReplicaFacts other = Facts("m");
    other.*fact = "another";
    groups.Join("b", other);
    EXPECT_THAT(MembersFor(groups, "m"), ElementsAre("a"));
    EXPECT_NE(groups.DifferenceOf("b"), "");
  }
}

TEST(ReplicaGroups, AreThoseOfMostReplicasThatAreThere) {
  ReplicaGroups groups;
  groups.SetListed({"odd", "a", "b"});
  groups.Join("odd", Facts("m", "f32"));
  EXPECT_THAT(MembersFor(groups, "m"), ElementsAre("odd"));
  groups.Join("a", Facts("m"));
  EXPECT_THAT(MembersFor(groups, "m"), ElementsAre("odd")) << "it was there before";
  groups.Join("b", Facts("m"));
  EXPECT_THAT(MembersFor(groups, "m"), ElementsAre("a", "b"));
  EXPECT_NE(groups.DifferenceOf("odd"), "");
  groups.Leave("a");
  EXPECT_THAT(MembersFor(groups, "m"), ElementsAre("b")) << "as many, so nothing changes";
  groups.Leave("b");
  EXPECT_THAT(MembersFor(groups, "m"), ElementsAre("odd"));
}

TEST(ReplicaGroups, MoveInTheMiddleOfAnUpgrade) {
  ReplicaGroups groups;
  const Names names = {"a", "b", "c"};
  groups.SetListed(names);
  for (const std::string& name : names) {
    groups.Join(name, Facts("m", "old"));
  }
  std::size_t least = names.size();
  for (const std::string& name : names) {
    groups.Leave(name);
    least = std::min(least, MembersFor(groups, "m").size());
    groups.Join(name, Facts("m", "new"));
    least = std::min(least, MembersFor(groups, "m").size());
  }
  EXPECT_THAT(MembersFor(groups, "m"), ElementsAre("a", "b", "c"));
  EXPECT_EQ(least, 1U) << "there is always a replica";
}

TEST(ReplicaGroups, APinnedGroupIsTheOnlyOne) {
  ReplicaGroups groups;
  groups.SetListed({"a", "b", "c", "d"});
  groups.Join("a", Facts("m"));
  groups.Join("b", Facts("m", "int8"));
  groups.Join("c", Facts("m", "int8"));
  groups.Join("d", Facts("other"));
  groups.Pin(Facts("m"));
  EXPECT_THAT(MembersFor(groups, ""), ElementsAre("a")) << "although most are others";
  EXPECT_THAT(MembersFor(groups, "other"), ElementsAre("a"));
  EXPECT_EQ(groups.DifferenceOf("a"), "");
  EXPECT_EQ(groups.DifferenceOf("b"), "dtype \"int8\" instead of \"bf16\"");
  EXPECT_EQ(groups.DifferenceOf("d"), "model \"other\" instead of \"m\"");
  groups.Join("a", Facts("other"));
  EXPECT_THAT(MembersFor(groups, "m"), IsEmpty()) << "the group stays";
  EXPECT_TRUE(groups.MayCome("m"));
  groups.Join("d", Facts("m"));
  EXPECT_THAT(MembersFor(groups, "m"), ElementsAre("d"));
}

}  // namespace replica_groups_test
}  // namespace scorecast::coordinator
