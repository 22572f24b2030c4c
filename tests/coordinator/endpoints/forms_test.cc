// The field tables of all endpoints, against the endpoints themselves and against
// docs/requests.md.

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/endpoints.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;

/// A value of the type.
json Example(FieldType type) {
  switch (type) {
    case FieldType::kString:
    case FieldType::kStringOrStrings:
    case FieldType::kTextOrIds:
    case FieldType::kOneOrMoreTextOrIds:
      return "a";
    case FieldType::kStrings:
    case FieldType::kTextOrIdsList:
    case FieldType::kDocuments:
      return json::array({"a"});
    case FieldType::kTokenIds:
    case FieldType::kLabels:
    case FieldType::kIntegers:
      return json::array({1U});
    case FieldType::kInteger:
    case FieldType::kUnsigned:
    case FieldType::kNumber:
      return 1U;
    case FieldType::kBool:
    case FieldType::kBoolOrString:
      return true;
  }
  return nullptr;
}

/// A body with the required fields of a form, from which its endpoint tells the form.
json LeastBody(const FieldTable& form) {
  json body = json::object();
  for (const Field& field : form.fields) {
    if (field.is_required) {
      body[std::string(field.name)] = Example(field.type);
    }
  }
  return body;
}

/// "reason param" of the fault of a body; empty if there is none.
std::string Fault(const Endpoint& endpoint, const json& body) {
  const ParsedRequest parsed = endpoint.FromJson(body);
  return parsed ? "" : parsed.error().reason + " " + parsed.error().param;
}

TEST(Forms, EveryEndpointDescribesItsBodies) {
  std::set<std::string_view> names;
  for (const Endpoint* endpoint : Endpoints()) {
    EXPECT_FALSE(endpoint->forms().empty()) << endpoint->name();
    for (const FieldTable* form : endpoint->forms()) {
      EXPECT_TRUE(names.insert(form->name).second) << form->name;
      EXPECT_FALSE(form->description.empty()) << form->name;
      std::set<std::string_view> fields;
      for (const Field& field : form->fields) {
        EXPECT_TRUE(fields.insert(field.name).second) << field.name;
        EXPECT_FALSE(field.description.empty()) << form->name << " " << field.name;
        EXPECT_TRUE(field.default_json.empty() || json::accept(field.default_json)) << field.name;
      }
      for (const RefusedField& refused : form->refused) {
        EXPECT_TRUE(fields.insert(refused.name).second) << refused.name;
        EXPECT_TRUE(json::parse(refused.neutral_json).is_array()) << refused.name;
      }
    }
  }
}

TEST(Forms, EndpointsReadTheFieldsOfTheirTables) {
  for (const Endpoint* endpoint : Endpoints()) {
    for (const FieldTable* form : endpoint->forms()) {
      SCOPED_TRACE(form->name);
      const json least = LeastBody(*form);
      EXPECT_EQ(Fault(*endpoint, least), "");
      for (const Field& field : form->fields) {
        const std::string name(field.name);
        json body = least;
        body[name] = Example(field.type);
        EXPECT_EQ(Fault(*endpoint, body), "") << name;
        body[name] = json::object();
        EXPECT_EQ(Fault(*endpoint, body), "wrong_type " + name);
        if (!field.default_json.empty()) {
          body[name] = json::parse(field.default_json);
          EXPECT_EQ(Fault(*endpoint, body), "") << name;
        }
        if (!field.is_required) {
          body[name] = nullptr;
          EXPECT_EQ(Fault(*endpoint, body), "") << name;
        }
      }
      json unknown = least;
      unknown["user"] = "me";
      unknown["metadata"] = {{"a", 1}};
      EXPECT_EQ(Fault(*endpoint, unknown), "");
    }
  }
}

TEST(Forms, EndpointsRefuseByNameWhatWouldChangeTheResult) {
  for (const Endpoint* endpoint : Endpoints()) {
    for (const FieldTable* form : endpoint->forms()) {
      for (const RefusedField& refused : form->refused) {
        std::string name(refused.name);
        if (name.starts_with('*')) {
          name.replace(0, 1, "item");
        }
        SCOPED_TRACE(std::string(form->name) + " " + name);
        json body = LeastBody(*form);
        body[name] = "something else";
        EXPECT_EQ(Fault(*endpoint, body), "not_supported " + name);
        json neutral = json::parse(refused.neutral_json);
        neutral.push_back(nullptr);
        for (const json& value : neutral) {
          body[name] = value;
          EXPECT_EQ(Fault(*endpoint, body), "") << value;
        }
      }
    }
  }
}

/// The names in backquotes of a text.
std::vector<std::string> QuotedNames(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = text.find('`'); begin != std::string::npos;) {
    const std::size_t end = text.find('`', begin + 1);
    if (end == std::string::npos) {
      break;
    }
    names.push_back(text.substr(begin + 1, end - begin - 1));
    begin = text.find('`', end + 1);
  }
  return names;
}

/// The fields of the request tables ("| field | type …") in the sections of docs/requests.md whose
/// heading names one of `urls`.
std::set<std::string> DocumentedFields(std::span<const std::string_view> urls) {
  std::ifstream file(std::filesystem::path(SCORECAST_TESTS_DIR).parent_path() / "docs/requests.md");
  std::set<std::string> fields;
  bool is_section = false;
  bool is_table = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("## ")) {
      is_section = false;
      for (const std::string& name : QuotedNames(line)) {
        is_section = is_section || std::ranges::find(urls, name) != urls.end();
      }
    }
    is_table = line.starts_with("| field | type") || (is_table && line.starts_with("|"));
    if (is_section && is_table) {
      for (const std::string& name : QuotedNames(line.substr(0, line.find('|', 1)))) {
        fields.insert(name);
      }
    }
  }
  return fields;
}

TEST(Forms, FieldsAreThoseOfTheDocumentation) {
  for (const Endpoint* endpoint : Endpoints()) {
    SCOPED_TRACE(endpoint->name());
    const std::set<std::string> documented = DocumentedFields(endpoint->urls());
    std::set<std::string> known;
    for (const Field& field : kOptionFields) {
      known.insert(std::string(field.name));
    }
    for (const FieldTable* form : endpoint->forms()) {
      for (const Field& field : form->fields) {
        const bool is_option =
            std::ranges::find(kOptionFields, field.name, &Field::name) != kOptionFields.end();
        if (!is_option) {
          EXPECT_TRUE(documented.contains(std::string(field.name)))
              << field.name << " is not in docs/requests.md";
        }
        known.insert(std::string(field.name));
      }
    }
    for (const std::string& name : documented) {
      EXPECT_TRUE(known.contains(name)) << name << " is in docs/requests.md only";
    }
  }
}

}  // namespace
}  // namespace scorecast::coordinator
