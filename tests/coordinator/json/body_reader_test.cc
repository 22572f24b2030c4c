#include "coordinator/json/body_reader.h"

#include <array>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace scorecast::coordinator {
namespace body_reader_test {

using nlohmann::json;

constexpr std::array kFields = std::to_array<Field>({
    {.name = "query", .type = FieldType::kString, .is_required = true},
    {.name = "documents", .type = FieldType::kDocuments},
    {.name = "flag", .type = FieldType::kBool},
    {.name = "lenient", .type = FieldType::kBoolOrString},
    {.name = "items", .type = FieldType::kOneOrMoreTextOrIds},
});
constexpr std::array kRefused = std::to_array<RefusedField>({
    {"n", "[1]"},
    {"logprobs", "[false,0]", "Give top_logprobs."},
    {"logit_bias", "[{}]"},
    {"*_embed_overrides", "[false]"},
});
constexpr FieldTable kTable = {.name = "Test", .fields = kFields, .refused = kRefused};

/// The fault of a body with a query and `more`.
std::string Fault(const std::string& more) {
  const json body = json::parse(R"({"query":"q")" + more + "}");
  BodyReader reader(body, kTable);
  return reader.error() ? reader.error()->reason + " " + reader.error()->param : "";
}

TEST(BodyReader, RefusesParametersThatWouldChangeTheResult) {
  EXPECT_EQ(Fault(R"(,"n":2)"), "not_supported n");
  EXPECT_EQ(Fault(R"(,"n":"1")"), "not_supported n");
  EXPECT_EQ(Fault(R"(,"logprobs":true)"), "not_supported logprobs");
  EXPECT_EQ(Fault(R"(,"logit_bias":{"5":1})"), "not_supported logit_bias");
  EXPECT_EQ(Fault(R"(,"item_embed_overrides":[1])"), "not_supported item_embed_overrides");
  EXPECT_EQ(Fault(R"(,"a\nb_embed_overrides":[1])"), "not_supported a\\x0ab_embed_overrides")
      << "a name of the client's stays in its line";
  const json body = json::parse(R"({"query":"q","logprobs":5})");
  EXPECT_EQ(BodyReader(body, kTable).error()->message,
            "logprobs is not supported by this server. Give top_logprobs.");
}

TEST(BodyReader, TakesNeutralValuesAndUnknownFields) {
  for (const char* more :
       {"", R"(,"n":1)", R"(,"n":1.0)", R"(,"n":null)", R"(,"logprobs":false)", R"(,"logprobs":0)",
        R"(,"logit_bias":{})", R"(,"item_embed_overrides":false)", R"(,"user":"me")",
        R"(,"metadata":{"a":[1]})"}) {
    EXPECT_EQ(Fault(more), "") << more;
  }
}

TEST(BodyReader, RequiredFields) {
  for (const char* text : {"{}", R"({"query":null})"}) {
    const json body = json::parse(text);
    BodyReader reader(body, kTable);
    EXPECT_EQ(reader.error()->reason, "missing_field");
    EXPECT_EQ(reader.error()->message, "query must be provided.");
  }
  const json list = json::array();
  EXPECT_EQ(BodyReader(list, kTable).error()->reason, "wrong_type");
}

TEST(BodyReader, BooleansAsText) {
  for (const auto& [text, value] : std::vector<std::pair<std::string, bool>>{
           {"true", true}, {"\"true\"", true}, {"\"True\"", true}, {"\"false\"", false}}) {
    const json body = json::parse(R"({"query":"q","lenient":)" + text + "}");
    BodyReader reader(body, kTable);
    EXPECT_EQ(reader.Bool("lenient", !value), value) << text;
    EXPECT_FALSE(reader.error());
  }
  const json body = json::parse(R"({"query":"q","lenient":"yes","flag":"true"})");
  BodyReader lenient(body, kTable);
  lenient.Bool("lenient", false);
  EXPECT_EQ(lenient.error()->param, "lenient");
  BodyReader strict(body, kTable);
  strict.Bool("flag", false);
  EXPECT_EQ(strict.error()->param, "flag");
}

TEST(BodyReader, Documents) {
  const json body = json::parse(R"({"query":"q","documents":["a",{"text":"b","id":7}]})");
  BodyReader reader(body, kTable);
  EXPECT_THAT(*reader.Documents("documents"), testing::ElementsAre("a", "b"));
  EXPECT_FALSE(reader.error());
  for (const auto& [documents, param] : std::vector<std::pair<std::string, std::string>>{
           {R"("a")", "documents"},
           {R"([1])", "documents[0]"},
           {R"(["a",{"title":"b"}])", "documents[1]"},
           {R"([{"text":["b"]}])", "documents[0].text"}}) {
    const json wrong = json::parse(R"({"query":"q","documents":)" + documents + "}");
    BodyReader wrong_reader(wrong, kTable);
    wrong_reader.Documents("documents");
    ASSERT_TRUE(wrong_reader.error()) << documents;
    EXPECT_EQ(wrong_reader.error()->reason, "wrong_type");
    EXPECT_EQ(wrong_reader.error()->param, param);
  }
}

TEST(BodyReaderDeathTest, ReadsOnlyTheFieldsOfItsTable) {
  const json body = json::parse(R"({"query":"q","other":1})");
  BodyReader reader(body, kTable);
  EXPECT_DEATH(reader.Integer("other"), "only the fields of its table");
  EXPECT_DEATH(reader.Integer("query"), "types of its table");
  EXPECT_DEATH(reader.RequiredTextOrIds("items"), "required");
}

}  // namespace body_reader_test
}  // namespace scorecast::coordinator
