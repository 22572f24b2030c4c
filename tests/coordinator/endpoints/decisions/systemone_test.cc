// Requests to /v1/systemone, from the body to the response.

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/decisions/decider.h"
#include "coordinator/endpoints/decisions/systemone_endpoint.h"
#include "coordinator/json/json_text.h"
#include "coordinator/prompts/sequence_layout.h"
#include "coordinator/request/value_limit.h"
#include "proto/scorecast.pb.h"
#include "tests/coordinator/endpoints/asking.h"
#include "tests/coordinator/endpoints/fake_server.h"

namespace scorecast::coordinator {
namespace systemone_test {

using ::testing::HasSubstr;
using Ids = std::vector<TokenId>;

constexpr const char* kTemplate = R"(
state: "S:{state}\n\n"
noul: "{instructions}\n{options}?"
choice: "{instructions}\n{options}?"
score: "{instructions}\n{options}?"
option: "{label}{name}={description}\n"
level: "{label}{description}\n"
outcome: "{label}{description}\n"
labels.noul: [["y","Y"],["n"]]
labels.choice: "A-Z"
labels.many: "aa-zz"
labels.score: "0-9"
temperature: {"choice": 2}
)";

/// One whose pairs from "aa" to "zz" are no tokens, so a choice has at most 26 options.
const FakeTokenizer& DecisionTokenizer() {
  static const FakeTokenizer tokenizer{{}, 259};
  return tokenizer;
}

ServerOptions Options() {
  ServerOptions options;
  std::string why_not;
  options.decider = Decider::Make(ParseDecisionTemplate(kTemplate, "t", "t"), DecisionTokenizer(),
                                  FakeServer::Config(), "", why_not);
  EXPECT_NE(options.decider, nullptr) << why_not;
  options.max_questions = 40;
  options.model_name = "the-model";
  return options;
}

BodyJson Parsed(const std::string& body) { return ValueOrFail(ParseJson(body, 1 << 20)); }

struct Server : FakeServer {
  explicit Server(const SchedulerOptions& scheduler_options = {})
      : FakeServer(Options(), scheduler_options) {}

  /// The response as its clients read it, or the error.
  proto::Expected<OrderedJson> Respond(const std::string& body) {
    const auto call = std::make_shared<AskingCall>();
    Begin(service, SystemOneEndpoint(), SystemOneEndpoint().FromJson(Parsed(body)), call);
    auto response = call->Wait().Respond();
    scheduler.WaitIdle();
    if (!response) {
      return proto::Unexpected(std::move(response).error());
    }
    return JsonOf(**response);
  }
  OrderedJson Answers(const std::string& body) { return ValueOrFail(Respond(body))["answers"]; }
  std::string FaultOf(const std::string& body) {
    const auto response = Respond(body);
    return response ? "none" : response.error().reason + " " + response.error().param;
  }
};

std::string Body(const std::string& questions, const std::string& more = "") {
  return R"({"state":"the state","questions":{)" + questions + "}" + more + "}";
}

const std::string kNoul = R"({"type":"noul","instructions":"Is it?"})";
const std::string kChoice =
    R"({"type":"choice","instructions":"Which?","criteria":{"z":null,"a":"first","m":{"k":1}}})";
const std::string kScore = R"({"type":"score","criteria":["low",{"b":2,"a":1},"high"]})";

/// The labels' logits behind a prompt that is computed alone, as one causal sequence.
std::vector<double> LogitsAlone(const std::string& prompt, const Ids& labels) {
  Ids ids = DecisionTokenizer().Encode(prompt);
  ids.insert(ids.begin(), 259);
  proto::PackedSequence sequence = PackItems(std::make_shared<const Ids>(ids), {});
  sequence.label_lists = {proto::LabelList(labels)};
  const proto::RowLogits row = ExpectedRow(
      sequence, {.row = static_cast<std::int32_t>(ids.size()) - 1}, FakeServer::kVocabSize);
  return {row.label_logits.begin(), row.label_logits.end()};
}

TEST(SystemOne, TheResponseIsThatOfTheHostedService) {
  Server server;
  const OrderedJson response = ValueOrFail(server.Respond(
      Body("\"n\":" + kNoul + ",\"c\":" + kChoice + ",\"s\":" + kScore, R"(,"model":"jev")")));
  std::vector<std::string> keys;
  for (const auto& [key, value] : response.items()) {
    keys.push_back(key);
  }
  EXPECT_EQ(keys, (std::vector<std::string>{"model", "answers", "usage"}));
  EXPECT_EQ(response["model"], "the-model") << "not the name that the client asked for";
  EXPECT_EQ(response["usage"]["output_tokens"], 0);
  EXPECT_GT(response["usage"]["input_tokens"], 0);
  EXPECT_EQ(response["usage"].size(), 2U);
  const OrderedJson& answers = response["answers"];
  EXPECT_EQ(answers.begin().key(), "n") << "in the order of the request";

  const OrderedJson& noul = answers["n"];
  EXPECT_EQ(noul.size(), 2U);
  EXPECT_EQ(noul["type"], "noul");
  const std::vector<double> of_noul = LogitsAlone("S:the state\n\nIs it?\n?", {'y', 'Y', 'n'});
  const double yes = std::exp(of_noul[0]) + std::exp(of_noul[1]);
  EXPECT_NEAR(noul["noul"], yes / (yes + std::exp(of_noul[2])), 1e-12);

  const OrderedJson& choice = answers["c"];
  EXPECT_EQ(choice.size(), 4U);
  EXPECT_EQ(choice["probabilities"].begin().key(), "z") << "the criteria's order";
  std::vector<double> of_choice =
      LogitsAlone("S:the state\n\nWhich?\nAz=\nBa=first\nCm={\"k\":1}\n?", {'A', 'B', 'C'});
  double sum = 0;
  for (double& logit : of_choice) {
    logit = std::exp(logit / 2);
    sum += logit;
  }
  EXPECT_NEAR(choice["probabilities"]["z"], of_choice[0] / sum, 1e-12);
  EXPECT_NEAR(choice["probabilities"]["m"], of_choice[2] / sum, 1e-12);
  const double largest = *std::ranges::max_element(of_choice) / sum;
  EXPECT_NEAR(choice["confidence"], (3 * largest - 1) / 2, 1e-12);
  EXPECT_EQ(choice["probabilities"][choice["choice"].get<std::string>()].get<double>(), largest);

  const OrderedJson& score = answers["s"];
  EXPECT_EQ(score.size(), 5U);
  EXPECT_EQ(score["legend"].dump(), R"({"0":"low","1":{"b":2,"a":1},"2":"high"})");
  const OrderedJson& p = score["probabilities"];
  EXPECT_NEAR(score["score"], p["1"].get<double>() + 2 * p["2"].get<double>(), 1e-12);
  EXPECT_NEAR(p["0"].get<double>() + p["1"].get<double>() + p["2"].get<double>(), 1, 1e-12);
  EXPECT_TRUE(score["confidence"].is_number());
}

TEST(SystemOne, AnAnswerDoesNotDependOnIdsOtherQuestionsNumberOrOrder) {
  Server server;
  const std::vector<std::string> questions = {kNoul, kChoice, kScore,
                                              R"({"type":"noul","instructions":"Other?"})"};
  std::vector<std::string> alone;
  for (const std::string& question : questions) {
    alone.push_back(server.Answers(Body("\"x\":" + question))["x"].dump());
  }
  std::string many;
  for (int i = 0; i < 40; ++i) {
    many += (i == 0 ? "\"" : ",\"") + std::to_string(i * 7) +
            "\":" + questions[static_cast<std::size_t>(39 - i) % questions.size()];
  }
  const OrderedJson answers = server.Answers(Body(many));
  ASSERT_EQ(answers.size(), 40U);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(answers[std::to_string(i * 7)].dump(),
              alone[static_cast<std::size_t>(39 - i) % questions.size()]);
  }
}

TEST(SystemOne, TheStateIsComputedOnce) {
  Server server;
  const std::string questions = "\"a\":" + kNoul + ",\"b\":" + kNoul;
  const std::int64_t one =
      ValueOrFail(server.Respond(Body("\"a\":" + kNoul)))["usage"]["input_tokens"];
  const std::int64_t two = ValueOrFail(server.Respond(Body(questions)))["usage"]["input_tokens"];
  EXPECT_EQ(two - one, static_cast<std::int64_t>(std::string("Is it?\n?").size()));
}

TEST(SystemOne, OneOptionIsAnsweredWithoutTheModel) {
  Server server;
  const OrderedJson response = ValueOrFail(server.Respond(Body(
      R"("c":{"type":"choice","criteria":{"only":null}},"s":{"type":"score","criteria":["x"]})",
      R"(,"x_label_mass":true)")));
  EXPECT_EQ(
      response["answers"].dump(),
      R"({"c":{"type":"choice","choice":"only","confidence":1.0,"probabilities":{"only":1.0}},)"
      R"("s":{"type":"score","score":0.0,"confidence":1.0,"legend":{"0":"x"},"probabilities":{"0":1.0}}})");
  EXPECT_EQ(response["usage"]["input_tokens"], 0);
}

TEST(SystemOne, ARequestThatCouldNotBeginWithinTheClientsTimeIsRefusedAtOnce) {
  // Each request takes 7 to 10 s.
  Server server(
      {.max_wait_seconds = 30,
       .max_pass_seconds = 1,
       .time_model = PassTimeModel(PassRates{.overhead = 0, .row = 0.35, .key = 0, .read = 0})});
  server.cluster.Hold();
  const auto begin = [&](const std::string& more) {
    const auto call = std::make_shared<AskingCall>();
    Begin(server.service, SystemOneEndpoint(),
          SystemOneEndpoint().FromJson(Parsed(Body("\"n\":" + kNoul, more))), call);
    return call;
  };
  const std::vector<std::shared_ptr<AskingCall>> waiting = {begin(""), begin("")};
  const auto refused = begin("")->Wait().Respond();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 429);
  EXPECT_EQ(refused.error().reason, "wait_too_long");
  EXPECT_GE(refused.error().retry_after_seconds, 1);
  const auto patient = begin(R"(,"timeout_ms":100000)");
  server.cluster.Release();
  for (const auto& call : {waiting[0], waiting[1], patient}) {
    EXPECT_TRUE(call->Wait().Respond());
  }
  server.scheduler.WaitIdle();
}

TEST(SystemOne, TwoOrdersAreAveraged) {
  Server server;
  const OrderedJson plain = server.Answers(Body("\"c\":" + kChoice));
  const OrderedJson reversed = server.Answers(Body(
      R"("c":{"type":"choice","instructions":"Which?","criteria":{"m":{"k":1},"a":"first","z":null}})"));
  const OrderedJson both = server.Answers(Body("\"c\":" + kChoice, R"(,"x_orders":2)"));
  double sum = 0;
  std::vector<double> means;
  for (const char* name : {"z", "a", "m"}) {
    means.push_back(std::sqrt(plain["c"]["probabilities"][name].get<double>() *
                              reversed["c"]["probabilities"][name].get<double>()));
    sum += means.back();
  }
  EXPECT_NEAR(both["c"]["probabilities"]["z"], means[0] / sum, 1e-12);
  EXPECT_NEAR(both["c"]["probabilities"]["m"], means[2] / sum, 1e-12);
  EXPECT_EQ(server.FaultOf(Body("\"s\":" + kScore, R"(,"x_orders":2)")), "not_supported x_orders");
}

TEST(SystemOne, ANoulWithoutLinesIsAskedOnce) {
  Server server;
  const auto tokens = [&](const std::string& question, const std::string& more) {
    const auto response = ValueOrFail(server.Respond(Body("\"n\":" + question, more)));
    return response["usage"]["input_tokens"].get<std::int64_t>();
  };
  constexpr const char* kTwo = R"(,"x_orders":2)";
  EXPECT_EQ(tokens(kNoul, kTwo), tokens(kNoul, ""));
  EXPECT_EQ(server.Answers(Body("\"n\":" + kNoul, kTwo)), server.Answers(Body("\"n\":" + kNoul)));
  const std::string outcomes =
      R"({"type":"noul","instructions":"Late?","criteria":{"true":"late","false":"in time"}})";
  EXPECT_GT(tokens(outcomes, kTwo), tokens(outcomes, ""));
}

TEST(SystemOne, TheLabelMassChangesNoBit) {
  Server server;
  const std::string questions = "\"n\":" + kNoul + ",\"c\":" + kChoice;
  const OrderedJson plain = server.Answers(Body(questions));
  OrderedJson with = server.Answers(Body(questions, R"(,"x_label_mass":true)"));
  for (const char* id : {"n", "c"}) {
    const double mass = with[id]["x_label_mass"];
    EXPECT_GT(mass, 0);
    EXPECT_LT(mass, 1);
    with[id].erase("x_label_mass");
  }
  EXPECT_EQ(with.dump(), plain.dump());
}

TEST(SystemOne, JsonKeepsItsOrder) {
  Server server;
  const std::string questions = R"(,"questions":{"n":)" + kNoul + "}}";
  const auto answer = [&](const std::string& state) {
    return server.Answers(R"({"state":)" + state + questions)["n"].dump();
  };
  EXPECT_EQ(answer(R"({ "b" : 1, "a" : [ null, "x" ] })"),
            answer(R"("{\"b\":1,\"a\":[null,\"x\"]}")"));
  EXPECT_NE(answer(R"({"b":1,"a":2})"), answer(R"({"a":2,"b":1})"));
}

// The texts are those of Python's json.dumps, without spaces.
TEST(SystemOne, NumbersAreShownAsPythonWritesThem) {
  Server server;
  const std::string questions = R"(,"questions":{"n":)" + kNoul + "}}";
  const auto answer = [&](const std::string& state) {
    return server.Answers(R"({"state":)" + state + questions)["n"].dump();
  };
  EXPECT_EQ(answer(R"({"rate": 0.01207, "at": 1732800000000000.0})"),
            answer(R"("{\"rate\":0.01207,\"at\":1732800000000000.0}")"));
  EXPECT_EQ(answer("[1e3, 1.10, -0.0, 123456789012345678901234567890]"),
            answer(R"("[1000.0,1.1,-0.0,123456789012345678901234567890]")"));
  const auto described = [&](const std::string& description) {
    return server
        .Answers(
            Body(R"("c":{"type":"choice","criteria":{"a":)" + description + R"(,"b":null}})"))["c"]
        .dump();
  };
  EXPECT_EQ(described("[0.01207]"), described(R"("[0.01207]")"));
}

TEST(SystemOne, RefusesWhatItDoesNotUnderstand) {
  Server server;
  const auto of_question = [](const std::string& question) { return Body("\"q\":" + question); };
  std::string options;
  for (int i = 0; i < 27; ++i) {
    options += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":null";
  }
  std::string questions;
  for (int i = 0; i < 41; ++i) {
    questions += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":" + kNoul;
  }
  const std::vector<std::pair<std::string, std::string>> faults = {
      {R"({"questions":{}})", "missing_field state"},
      {R"({"state":null,"questions":{}})", "missing_field state"},
      {R"({"state":"s"})", "missing_field questions"},
      {R"({"state":7,"questions":{"q":)" + kNoul + "}}", "wrong_type state"},
      {R"({"state":true,"questions":{"q":)" + kNoul + "}}", "wrong_type state"},
      {Body(""), "no_questions questions"},
      {Body(questions), "too_many_questions questions"},
      {R"({"state":"s","questions":[]})", "wrong_type questions"},
      {Body("\"q\":" + kNoul, R"(,"colour":1)"), "unknown_field colour"},
      {Body("\"q\":" + kNoul, R"(,"assets":{"a":1})"), "not_supported assets"},
      {Body("\"q\":" + kNoul, R"(,"x_orders":3)"), "x_orders_out_of_range x_orders"},
      {Body("\"q\":" + kNoul + ",\"q\":" + kNoul), "duplicate_key questions.q"},
      {R"({"state":{"a":{"b":1,"b":2}},"questions":{"q":)" + kNoul + "}}",
       "duplicate_key state.a.b"},
      {of_question("7"), "wrong_type questions.q"},
      {of_question(R"({"instructions":"x"})"), "missing_field questions.q.type"},
      {of_question(R"({"type":"box","instructions":"x"})"), "unknown_type questions.q.type"},
      {of_question(R"({"type":"noul","instructions":"x","level":1})"),
       "unknown_field questions.q.level"},
      {of_question(R"({"type":"noul"})"), "no_question questions.q"},
      {of_question(R"({"type":"noul","criteria":{"true":null}})"), "no_question questions.q"},
      {of_question(R"({"type":"noul","instructions":" \n","criteria":{"true":"\u3000"}})"),
       "no_question questions.q"},
      {of_question(R"({"type":"noul","instructions":"x","criteria":{"maybe":"y"}})"),
       "unknown_field questions.q.criteria.maybe"},
      {of_question(R"({"type":"noul","instructions":"x","criteria":["y"]})"),
       "wrong_type questions.q.criteria"},
      {of_question(R"({"type":"noul","instructions":5})"), "wrong_type questions.q.instructions"},
      {of_question(R"({"type":"choice"})"), "wrong_type questions.q.criteria"},
      {of_question(R"({"type":"choice","criteria":["a","b"]})"), "wrong_type questions.q.criteria"},
      {of_question(R"({"type":"choice","criteria":{}})"), "no_option questions.q.criteria"},
      {of_question(R"({"type":"choice","criteria":{"a":3}})"), "wrong_type questions.q.criteria.a"},
      {of_question(R"({"type":"choice","criteria":{)" + options + "}}"),
       "too_many_options questions.q.criteria"},
      {of_question(R"({"type":"score"})"), "wrong_type questions.q.criteria"},
      {of_question(R"({"type":"score","criteria":{"a":"b"}})"), "wrong_type questions.q.criteria"},
      {of_question(R"({"type":"score","criteria":[]})"), "no_level questions.q.criteria"},
      {of_question(R"({"type":"score","criteria":["a",null]})"),
       "wrong_type questions.q.criteria[1]"},
      {of_question(R"({"type":"score","criteria":[0,1]})"), "wrong_type questions.q.criteria[0]"},
      {of_question(R"({"type":"score","criteria":["0","1","2","3","4","5","6","7","8","9","10"]})"),
       "too_many_levels questions.q.criteria"},
      {of_question(R"({"type":"noul","instructions":")" + std::string(600, 'x') + "\"}"),
       "too_many_positions questions.q"},
      {R"({"state":")" + std::string(600, 'x') + R"(","questions":{"q":)" + kNoul + "}}",
       "too_many_positions state"},
      {R"({"state":")" + std::string(6000, 'x') + R"(","questions":{"q":)" + kNoul + "}}",
       "too_many_positions state"},
  };
  for (const auto& [body, expected] : faults) {
    EXPECT_EQ(server.FaultOf(body), expected) << body.substr(0, 200);
  }
}

TEST(SystemOne, WithoutATemplateTheErrorSaysWhy) {
  ServerOptions options;
  options.no_decider_reason = "the model is a classifier";
  FakeServer server(options);
  const auto call = std::make_shared<AskingCall>();
  Begin(server.service, SystemOneEndpoint(),
        SystemOneEndpoint().FromJson(Parsed(Body("\"q\":" + kNoul))), call);
  const auto response = call->Wait().Respond();
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().code, 400);
  EXPECT_EQ(response.error().message, "the model is a classifier");
}

TEST(SystemOne, AnErrorIsWhatItsClientsShow) {
  const OrderedJson body = OrderedJson::parse(
      SystemOneEndpoint().ErrorToJson({400, "unknown_type", "It is wrong.", "questions.q.type"}));
  EXPECT_EQ(body["message"], "It is wrong.");
  EXPECT_EQ(body["detail"]["error_type"], "unknown_type");
  EXPECT_EQ(body["detail"]["message"], "It is wrong.");
}

TEST(SystemOne, AMessageIsReadAsABodyIs) {
  Server server;
  v1::Request request;
  v1::SystemOneRequest& message = *request.mutable_systemone();
  message.mutable_state()->set_text("the state");
  v1::NamedQuestion& question = *message.add_questions();
  question.set_key("n");
  question.mutable_value()->set_type("noul");
  question.mutable_value()->mutable_instructions()->set_text("Is it?");
  const auto call = std::make_shared<AskingCall>();
  Begin(server.service, SystemOneEndpoint(), SystemOneEndpoint().FromMessage(request), call);
  const auto response = call->Wait().Respond();
  ASSERT_TRUE(response) << response.error().message;
  EXPECT_EQ(JsonOf(**response)["answers"].dump(), server.Answers(Body("\"n\":" + kNoul)).dump());
  server.scheduler.WaitIdle();

  using namespace std::string_literals;
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"", "wrong_type"},
      {"7", "wrong_type"},
      {"\"x\"", "wrong_type"},
      {" {}", "wrong_type"},
      {"{", "invalid_json"},
      {"{}{}", "invalid_json"},
      {"{}\0x"s, "invalid_json"},
      {std::string(33, '[') + std::string(33, ']'), "invalid_json"},
      {R"({"a":{"b":1,"b":2}})", "duplicate_key"}};
  for (const auto& [json, reason] : faults) {
    message.mutable_state()->set_json(json);
    const auto refused = std::make_shared<AskingCall>();
    Begin(server.service, SystemOneEndpoint(), SystemOneEndpoint().FromMessage(request), refused);
    const auto fault = refused->Wait().Respond();
    ASSERT_FALSE(fault) << json;
    EXPECT_EQ(fault.error().reason, reason) << json;
    EXPECT_EQ(fault.error().param, reason == "duplicate_key" ? "state.a.b" : "state") << json;
  }
  // Spaces change nothing.
  std::vector<std::string> answers;
  for (const char* json : {R"({"b":[1,"x"],"a":null})", R"({ "b" : [1, "x"], "a": null })"}) {
    message.mutable_state()->set_json(json);
    const auto asked = std::make_shared<AskingCall>();
    Begin(server.service, SystemOneEndpoint(), SystemOneEndpoint().FromMessage(request), asked);
    const auto answered = asked->Wait().Respond();
    ASSERT_TRUE(answered) << answered.error().message;
    answers.push_back(JsonOf(**answered).dump());
    server.scheduler.WaitIdle();
  }
  EXPECT_EQ(answers[1], answers[0]);
}

TEST(SystemOne, TheBoundOnTheResponseHolds) {
  Server server;
  const std::vector<std::string> bodies = {
      Body("\"n\":" + kNoul), Body("\"" + std::string(300, 'i') + "\":" + kScore),
      Body(R"("s":{"type":"score","criteria":["\u0001\u0001\"\\","x"]})",
           R"(,"x_label_mass":true)"),
      Body("\"" + std::string(100, 'i') + "\":" + kChoice, R"(,"x_label_mass":true)")};
  for (const std::string& body : bodies) {
    ParsedRequest parsed = SystemOneEndpoint().FromJson(Parsed(body));
    ASSERT_TRUE(parsed);
    const std::int64_t bound = (*parsed)->ResponseBytesBound(server.config);
    const auto call = std::make_shared<AskingCall>();
    Begin(server.service, SystemOneEndpoint(), std::move(parsed), call);
    const auto response = call->Wait().Respond();
    server.scheduler.WaitIdle();
    ASSERT_TRUE(response);
    EXPECT_LE(static_cast<std::int64_t>((*response)->message().ByteSizeLong()), bound);
  }
}

TEST(SystemOne, AThousandQuestionsOf255OptionsHaveNoMoreValuesThanAreAllowed) {
  proto::ModelConfig config;
  config.vocab_size = 1;
  const std::int64_t values = 1000 * (255 * 2 + 8);
  EXPECT_GE(MaxValues(config, ServerOptions()), values);
}

}  // namespace systemone_test
}  // namespace scorecast::coordinator
