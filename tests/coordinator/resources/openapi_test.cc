#include "coordinator/resources/openapi.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/json/body_members.h"
#include "coordinator/resources/openapi_schema.h"
#include "tests/coordinator/json/test_messages.pb.h"

namespace scorecast::coordinator {
namespace openapi_test {

using nlohmann::json;

const std::vector<Resource>& Others() {
  static const std::vector<Resource> others = {
      {.path = "/health", .get = [] { return Share({}); }, .description = "Alive."}};
  return others;
}

json Document() { return json::parse(OpenApiResource(Endpoints(), Others(), "1.2.3").get()->body); }

std::set<std::string> Keys(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) {
    keys.insert(key);
  }
  return keys;
}

TEST(OpenApi, HasEveryUrlAndResource) {
  const json document = Document();
  EXPECT_EQ(document["openapi"], "3.1.0");
  EXPECT_EQ(document["info"]["version"], "1.2.3");
  std::set<std::string> paths = {"/health", "/openapi.json"};
  std::set<std::string> ids;
  for (const Endpoint* endpoint : Endpoints()) {
    for (const std::string_view url : endpoint->urls()) {
      paths.insert(std::string(url));
      const json& post = document["paths"][std::string(url)]["post"];
      const std::string id = post["operationId"];
      EXPECT_TRUE(ids.insert(id).second);
      EXPECT_THAT(id, testing::MatchesRegex("[a-z0-9_]+"));
      EXPECT_TRUE(id == endpoint->name() || url != endpoint->urls().front()) << id;
      EXPECT_EQ(post["requestBody"]["required"], true);
    }
  }
  EXPECT_EQ(Keys(document["paths"]), paths);
  EXPECT_EQ(document["paths"]["/health"]["get"]["summary"], "Alive.");
  EXPECT_FALSE(document["paths"]["/v1/rerank"]["post"].contains("parameters"));
  const json& named = document["paths"]["/inference/{model}"]["post"]["parameters"];
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0]["name"], "model");
  EXPECT_EQ(named[0]["in"], "path");
  EXPECT_EQ(named[0]["required"], true);
  EXPECT_EQ(document["paths"]["/health"]["get"]["operationId"], "get_health");
  EXPECT_EQ(document["servers"], json::parse(R"([{"url":"/"}])"));
}

TEST(OpenApi, AResourceWithIdsHasAParameter) {
  const std::vector<Resource> resources = {
      {.path = "/v1/models/{id}", .get = nullptr, .description = "One."}};
  const json document =
      json::parse(OpenApiResource(EndpointList(), resources, "1.2.3").get()->body);
  const json& get = document["paths"]["/v1/models/{id}"]["get"];
  EXPECT_EQ(get["operationId"], "get_v1_models_id");
  EXPECT_EQ(get["parameters"], json::parse(R"([{"name":"id","in":"path","required":true,)"
                                           R"("schema":{"type":"string","minLength":1}}])"));
}

TEST(OpenApi, ExamplesAreBodiesOfTheirForms) {
  const json paths = Document()["paths"];
  std::size_t count = 0;
  for (const Endpoint* endpoint : Endpoints()) {
    const json& body = paths[std::string(endpoint->urls().front())]["post"]["requestBody"];
    const json examples = body["content"]["application/json"].value("examples", json::object());
    for (const BodyForm* form : endpoint->forms()) {
      EXPECT_EQ(examples.contains(form->name()), !form->example().empty());
      if (form->example().empty()) {
        continue;
      }
      ++count;
      const json example = json::parse(form->example());
      EXPECT_EQ(examples[form->name()]["value"], example);
      EXPECT_TRUE(endpoint->FromJson(ParseJson(form->example(), 100).value()).has_value());
      const bool is_first = form == endpoint->forms().front();
      EXPECT_TRUE(is_first || form->IsThatOf([&](const std::string& name) {
        return example.contains(name);
      })) << form->name();
    }
  }
  EXPECT_GE(count, 10U);
}

/// Calls `check` with each enum of a document.
template <typename Check>
void ForEachEnum(const json& part, const Check& check) {
  for (const auto& [key, value] : part.items()) {
    if (key == "enum" && value.is_array()) {
      check(value);
    } else if (value.is_structured()) {
      ForEachEnum(value, check);
    }
  }
}

TEST(OpenApi, EnumsHaveOneTypeAndNoNamesThatDifferOnlyInCase) {
  std::size_t count = 0;
  ForEachEnum(Document(), [&](const json& values) {
    ++count;
    std::set<std::string> names;
    for (const json& value : values) {
      ASSERT_TRUE(value.is_string()) << values;
      std::string name = value;
      std::ranges::transform(name, name.begin(), [](char c) { return std::tolower(c); });
      EXPECT_TRUE(names.insert(name).second) << values;
    }
  });
  EXPECT_GT(count, 0U);
}

TEST(OpenApi, SchemasAreThoseOfTheForms) {
  const json schemas = Document()["components"]["schemas"];
  std::set<std::string> names;
  for (const Endpoint* endpoint : Endpoints()) {
    for (const BodyForm* form : endpoint->forms()) {
      names.insert(form->name());
      const json& schema = schemas[form->name()];
      std::set<std::string> properties;
      std::set<std::string> required;
      for (const FormField& field : form->fields()) {
        const std::string name(field.name);
        properties.insert(name);
        EXPECT_EQ(schema["properties"][name]["description"], field.description);
        EXPECT_EQ(schema["properties"][name].contains("default"), !field.default_json.empty());
        if (field.is_required) {
          required.insert(name);
        }
      }
      for (const RefusedField& refused : form->refused()) {
        if (!refused.name.starts_with('*')) {
          properties.insert(std::string(refused.name));
        }
      }
      EXPECT_EQ(Keys(schema["properties"]), properties) << form->name();
      EXPECT_EQ(schema.value("required", std::set<std::string>()), required) << form->name();
    }
  }
  EXPECT_THAT(Keys(schemas), testing::IsSupersetOf(names));
}

/// Adds the names of the schemas that `part` of a document refers to.
void AddReferences(const json& part, std::set<std::string>& names) {
  for (const auto& [key, value] : part.items()) {
    if (key == "$ref") {
      const std::string path = value.get<std::string>();
      names.insert(path.substr(path.rfind('/') + 1));
    } else if (value.is_structured()) {
      AddReferences(value, names);
    }
  }
}

TEST(OpenApi, HasTheSchemasThatItRefersTo) {
  const json document = Document();
  std::set<std::string> names;
  AddReferences(document, names);
  EXPECT_EQ(Keys(document["components"]["schemas"]), names);
}

TEST(OpenApi, ResponsesAreThoseOfTheirForms) {
  const json document = Document();
  const auto schema_of = [&](const char* url, const char* status) {
    return document["paths"][url]["post"]["responses"][status]["content"]["application/json"]
                   ["schema"];
  };
  EXPECT_EQ(schema_of("/v1/chunked", "200"),
            json::parse(R"({"$ref":"#/components/schemas/ChunkedResponse"})"));
  EXPECT_EQ(schema_of("/v1/rerank", "200"),
            json::parse(R"({"$ref":"#/components/schemas/RerankReply"})"));
  EXPECT_EQ(
      document["components"]["schemas"]["RerankReply"],
      json::parse(R"({"anyOf":[{"$ref":"#/components/schemas/CohereRerankResponse"},)"
                  R"({"type":"array","items":{"$ref":"#/components/schemas/TeiRerankResult"}},)"
                  R"({"type":"array","items":{"$ref":"#/components/schemas/SglangRerankResult"}},)"
                  R"({"$ref":"#/components/schemas/NvidiaRankingResponse"},)"
                  R"({"$ref":"#/components/schemas/VoyageRerankResponse"},)"
                  R"({"$ref":"#/components/schemas/MixedbreadRerankResponse"}]})"));
  EXPECT_EQ(schema_of("/v1/rerank", "4XX"),
            json::parse(R"({"$ref":"#/components/schemas/RerankErrorBody"})"));
  const json& score = document["components"]["schemas"]["ScoreResponse"];
  EXPECT_EQ(score["properties"]["object"], json::parse(R"({"type":"string","const":"scoring"})"));
  EXPECT_EQ(score["properties"]["scores"],
            json::parse(
                R"({"anyOf":[{"type":"array","items":{"type":"array","items":{"type":"number"}}},)"
                R"({"type":"array","items":{"type":"array","items":{"type":"array",)"
                R"("items":{"type":"number"}}}}]})"));
  EXPECT_EQ(score["properties"]["top_logprobs"]["items"]["items"],
            json::parse(R"({"type":"array","prefixItems":[{"type":"integer"},{"type":"number"}],)"
                        R"("items":{"anyOf":[{"type":"integer"},{"type":"number"}]},)"
                        R"("minItems":2,"maxItems":2})"));
  EXPECT_EQ(score["required"], json::parse(R"(["object","scores","model"])"));
  EXPECT_FALSE(score["properties"].contains("occurrences"));
  EXPECT_EQ(document["components"]["schemas"]["ErrorBody"]["properties"]["param"],
            json::parse(R"({"anyOf":[{"type":"string"},{"type":"null"}]})"));
}

TEST(OpenApi, OnlyFormsWithAStreamHaveEvents) {
  const json paths = Document()["paths"];
  const auto types = [&](const char* url) {
    return Keys(paths[url]["post"]["responses"]["200"]["content"]);
  };
  EXPECT_THAT(types("/v1/chunked"),
              testing::UnorderedElementsAre("application/json", "text/event-stream"));
  EXPECT_THAT(types("/v1/score"), testing::UnorderedElementsAre("application/json"));
}

TEST(SchemaOf, TypesBoundsAndNeutralValues) {
  const BodyForm form(*v1::TestSchemaRequest::descriptor());
  const json schema = json::parse(ToJsonText(SchemaOf(form)));
  EXPECT_EQ(schema["properties"]["n"],
            json::parse(R"({"anyOf":[{"type":"integer","minimum":0,"maximum":50,)"
                        R"("format":"int64"},{"type":"null"}],"description":"","default":0})"));
  EXPECT_EQ(schema["properties"]["t"],
            json::parse(R"({"type":"number","minimum":0.5,"description":""})"));
  EXPECT_EQ(schema["properties"]["d"]["anyOf"][0],
            json::parse(R"({"type":"array","items":{"$ref":"#/components/schemas/Document"}})"));
  EXPECT_EQ(json::parse(ToJsonText(DocumentSchema())),
            json::parse(R"({"anyOf":[{"type":"string"},{"type":"object",)"
                        R"("properties":{"text":{"type":"string"}},"required":["text"]}]})"));
  EXPECT_EQ(schema["properties"]["a"], json::parse(R"({"description":""})")) << "any JSON";
  EXPECT_EQ(schema["properties"]["p"]["additionalProperties"],
            json::parse(R"({"anyOf":[{"type":"string"},{"type":"integer","format":"int64"},)"
                        R"({"type":"boolean"}]})"));
  EXPECT_EQ(schema["properties"]["m"],
            json::parse(R"({"anyOf":[{"type":"integer","minimum":1,"maximum":1},{"type":"null"}],)"
                        R"("description":"Not supported: only 1."})"));
  EXPECT_EQ(schema["patternProperties"]["_x$"], json::parse(R"({"description":"Not supported."})"));
  EXPECT_EQ(schema["required"], json::parse(R"(["t","a","p"])"));
}

}  // namespace openapi_test
}  // namespace scorecast::coordinator
