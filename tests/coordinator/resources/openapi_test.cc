#include "coordinator/resources/openapi.h"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/resources/openapi_schema.h"

namespace scorecast::coordinator {
namespace openapi_test {

using nlohmann::json;

const std::vector<Resource>& Others() {
  static const std::vector<Resource> others = {
      {.path = "/health", .get = [] { return ResourceContent{}; }, .description = "Alive."}};
  return others;
}

json Document() { return json::parse(OpenApiResource(Endpoints(), Others(), "1.2.3").get().body); }

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
      EXPECT_TRUE(ids.insert(post["operationId"]).second);
      EXPECT_EQ(post["requestBody"]["required"], true);
    }
  }
  EXPECT_EQ(Keys(document["paths"]), paths);
  EXPECT_EQ(document["paths"]["/health"]["get"]["summary"], "Alive.");
}

TEST(OpenApi, SchemasAreThoseOfTheFieldTables) {
  const json schemas = Document()["components"]["schemas"];
  std::set<std::string> names;
  for (const Endpoint* endpoint : Endpoints()) {
    for (const FieldTable* form : endpoint->forms()) {
      names.insert(std::string(form->name));
      const json& schema = schemas[std::string(form->name)];
      std::set<std::string> properties;
      std::set<std::string> required;
      for (const Field& field : form->fields) {
        const std::string name(field.name);
        properties.insert(name);
        EXPECT_EQ(schema["properties"][name]["description"], field.description);
        EXPECT_EQ(schema["properties"][name].contains("default"), !field.default_json.empty());
        if (field.is_required) {
          required.insert(name);
        }
      }
      for (const RefusedField& refused : form->refused) {
        if (!refused.name.starts_with('*')) {
          properties.insert(std::string(refused.name));
        }
      }
      EXPECT_EQ(Keys(schema["properties"]), properties) << form->name;
      EXPECT_EQ(schema.value("required", std::set<std::string>()), required) << form->name;
    }
  }
  EXPECT_EQ(Keys(schemas), names);
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
  static constexpr std::array kFields = std::to_array<Field>({
      {.name = "n", .type = FieldType::kInteger, .default_json = "0", .minimum = 0, .maximum = 50},
      {.name = "t", .type = FieldType::kNumber, .is_required = true, .minimum = 0.5},
      {.name = "d", .type = FieldType::kDocuments},
  });
  static constexpr std::array kRefused = std::to_array<RefusedField>({{"m", "[1]"}, {"*_x"}});
  const json schema =
      json::parse(ToJsonText(SchemaOf({.name = "T", .fields = kFields, .refused = kRefused})));
  EXPECT_EQ(schema["properties"]["n"],
            json::parse(R"({"anyOf":[{"type":"integer","minimum":0,"maximum":50,)"
                        R"("format":"int64"},{"type":"null"}],"description":"","default":0})"));
  EXPECT_EQ(schema["properties"]["t"],
            json::parse(R"({"type":"number","minimum":0.5,"description":""})"));
  EXPECT_EQ(schema["properties"]["d"]["anyOf"][0],
            json::parse(R"({"type":"array","items":{"anyOf":[{"type":"string"},{"type":"object",)"
                        R"("properties":{"text":{"type":"string"}},"required":["text"]}]}})"));
  EXPECT_EQ(schema["properties"]["m"]["enum"], json::parse("[1,null]"));
  EXPECT_EQ(schema["patternProperties"]["_x$"]["enum"], json::parse("[null]"));
  EXPECT_EQ(schema["required"], json::parse(R"(["t"])"));
}

}  // namespace openapi_test
}  // namespace scorecast::coordinator
