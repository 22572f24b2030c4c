#include "launcher/client/answer_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/json/body_members.h"
#include "launcher/client/decision_body.h"
#include "proto/scorecast.pb.h"

namespace scorecast::launcher {
namespace answer_lines_test {

using ::testing::ElementsAre;

v1::SystemOneRequest RequestOf(const std::string& questions) {
  return *ReadDecisionBody(*ParseDistinct(R"({"state":"x","questions":{)" + questions + "}}"));
}

void AddAnswer(const std::string& type, const std::vector<double>& probabilities,
               v1::SystemOneResponse& response) {
  v1::DecisionAnswer& answer = *response.add_answers();
  answer.set_type(type);
  answer.mutable_probabilities()->Assign(probabilities.begin(), probabilities.end());
  answer.set_confidence(0.87);
}

TEST(AnswerLines, HaveQuestionsOptionsBarsAndConfidence) {
  const v1::SystemOneRequest request =
      RequestOf(R"("Is it urgent?":{"type":"noul","instructions":"Is it urgent?"},)"
                R"("team":{"type":"choice","instructions":"Which team?",)"
                R"("criteria":{"billing":null,"delivery":"late\nparcels"}},)"
                R"("anger":{"type":"score","criteria":["calm",{"a":1}]})");
  v1::SystemOneResponse response;
  response.add_answers()->set_type("noul");
  response.mutable_answers(0)->set_noul(0.25);
  response.mutable_answers(0)->set_x_label_mass(0.999);
  AddAnswer("choice", {0.065, 0.935}, response);
  AddAnswer("score", {0.5, 0.5}, response);
  response.mutable_answers(2)->set_score(0.5);
  EXPECT_THAT(AnswerLines(request, response, 0),
              ElementsAre("noul    Is it urgent?",                     //
                          "     25.0 % █████                true",     //
                          "  >  75.0 % ███████████████      false",    //
                          "    label mass 99.9 %",                     //
                          "",                                          //
                          "choice  team: Which team?",                 //
                          "      6.5 % █▎                   billing",  //
                          "  >  93.5 % ██████████████████▊  delivery - late parcels",
                          "    confidence 87.0 %",                         //
                          "",                                              //
                          "score   anger",                                 //
                          "  >  50.0 % ██████████           0 calm",       //
                          "     50.0 % ██████████           1 {\"a\":1}",  //
                          "    score 0.50, confidence 87.0 %"));
}

TEST(AnswerLines, FitTheTerminal) {
  const v1::SystemOneRequest request =
      RequestOf(R"("n":{"type":"noul","instructions":"Is it very urgent?",)"
                R"("criteria":{"true":"yes, it is"}})");
  v1::SystemOneResponse response;
  response.add_answers()->set_type("noul");
  response.mutable_answers(0)->set_noul(1);
  response.mutable_answers(0)->set_x_label_mass(0.9999999);
  EXPECT_THAT(AnswerLines(request, response, 27),
              ElementsAre("noul    n: Is it very urge…", "  > 100.0 % ████████ true …",
                          "      0.0 %          false", "    label mass 100.0 %"));
}

}  // namespace answer_lines_test
}  // namespace scorecast::launcher
