#include "launcher/client/question_flags.h"

#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/json/body_members.h"
#include "launcher/client/decision_body.h"
#include "proto/scorecast.pb.h"

namespace scorecast::launcher {
namespace question_flags_test {

using ::testing::HasSubstr;

v1::SystemOneRequest Asked(const std::vector<QuestionFlag>& flags,
                           const std::vector<std::string>& instructions = {}) {
  v1::SystemOneRequest request;
  AddQuestions(flags, instructions, request);
  return request;
}

std::string FaultOf(const std::vector<QuestionFlag>& flags,
                    const std::vector<std::string>& instructions = {}) {
  try {
    Asked(flags, instructions);
  } catch (const std::runtime_error& fault) {
    return fault.what();
  }
  return "none";
}

TEST(QuestionFlags, AreTheQuestionsOfABody) {
  const v1::SystemOneRequest asked = Asked({{"score", " anger = calm, very annoyed ,furious"},
                                            {"noul", "Is a=b, or not?"},
                                            {"choice", R"(a\=b?=one\,two,\\,x=y,a\b)"},
                                            {"noul", "urgent"}},
                                           {"urgent=Is it urgent? 1=yes, 0=no"});
  v1::SystemOneRequest body = *ReadDecisionBody(*ParseDistinct(R"({"state":"","questions":{
      "anger":{"type":"score","instructions":"anger","criteria":["calm","very annoyed","furious"]},
      "Is a=b, or not?":{"type":"noul","instructions":"Is a=b, or not?"},
      "a=b?":{"type":"choice","instructions":"a=b?",
              "criteria":{"one,two":null,"\\":null,"x=y":null,"a\\b":null}},
      "urgent":{"type":"noul","instructions":"Is it urgent? 1=yes, 0=no"}}})"));
  ASSERT_EQ(asked.questions_size(), body.questions_size());
  for (int i = 0; i < body.questions_size(); ++i) {
    v1::DecisionQuestion& question = *body.mutable_questions(i)->mutable_value();
    if (question.type() == "choice") {
      for (v1::DecisionOption& option :
           *question.mutable_criteria()->mutable_options()->mutable_options()) {
        option.clear_value();  // Null is as good as absent.
      }
    }
    EXPECT_EQ(asked.questions(i).DebugString(), body.questions(i).DebugString());
  }
}

TEST(QuestionFlags, FaultsNameTheFlag) {
  EXPECT_EQ(FaultOf({{"choice", "team"}}), "--choice \"team\" is not ID=OPTION,OPTION,…");
  EXPECT_EQ(FaultOf({{"score", " =a"}}), "--score \" =a\" is not ID=LEVEL,LEVEL,…");
  EXPECT_EQ(FaultOf({{"choice", "team=a,,b"}}), "--choice \"team=a,,b\" has an empty option");
  EXPECT_EQ(FaultOf({{"score", "anger="}}), "--score \"anger=\" has an empty level");
  EXPECT_EQ(FaultOf({{"noul", " "}}), "--question has no text");
  EXPECT_EQ(FaultOf({{"noul", "a"}, {"choice", "a=b,c"}}), "two questions have the id \"a\"");
  EXPECT_EQ(FaultOf({{"noul", "a"}}, {"b"}), "--instructions \"b\" is not ID=TEXT");
  EXPECT_EQ(FaultOf({{"noul", "a"}}, {"a=x", "a=y"}), "--instructions is given twice for \"a\"");
  EXPECT_THAT(FaultOf({{"noul", "a"}}, {"b=x"}), HasSubstr("no question has the id \"b\""));
}

}  // namespace question_flags_test
}  // namespace scorecast::launcher
