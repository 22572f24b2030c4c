// The forms of all endpoints, against the endpoints themselves. field_tables_test.cc compares them
// with docs/requests.md.

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "coordinator/endpoints/completions/completions_request.h"
#include "coordinator/endpoints/endpoints.h"
#include "coordinator/json/body_members.h"

namespace scorecast::coordinator {
namespace forms_test {

using nlohmann::json;

json LeastBody(const BodyForm& form);

/// A value that a field may have.
json Example(const JsonShape& shape) {
  json value;
  switch (shape.kind) {
    case JsonShape::Kind::kString:
    case JsonShape::Kind::kAny:
    case JsonShape::Kind::kUnion:
      value = "a";
      break;
    case JsonShape::Kind::kTokenId:
    case JsonShape::Kind::kInteger:
    case JsonShape::Kind::kUnsigned:
    case JsonShape::Kind::kNumber:
      value = 1U;
      break;
    case JsonShape::Kind::kBool:
      value = true;
      break;
    case JsonShape::Kind::kPairs:
      value = json::object();
      break;
    case JsonShape::Kind::kObject:
      value = LeastBody(*shape.form);
      break;
    case JsonShape::Kind::kIds:
    case JsonShape::Kind::kLabels:
      value = json::array({1U});
      break;
  }
  return shape.is_list && !shape.takes_one ? json::array({value}) : value;
}

/// Fields of a form of which exactly one is given.
using Group = std::vector<std::string>;

std::vector<Group> GroupsOf(const BodyForm& form) {
  if (form.name() == "PairScoreRequest") {
    return {{"text_1", "queries", "data_1"}, {"text_2", "documents", "items", "data_2"}};
  }
  return {};
}

/// The group of a field; empty if it is in none.
Group GroupOf(const BodyForm& form, const std::string& name) {
  for (const Group& group : GroupsOf(form)) {
    if (std::ranges::find(group, name) != group.end()) {
      return group;
    }
  }
  return {};
}

/// Whether a body with these fields is told to have the form, of several.
bool IsMarked(const BodyForm& form, const json& body) {
  return form.IsThatOf([&](const std::string& name) { return body.contains(name); });
}

/// Adds the field from which an endpoint tells the form, if the body has none that does. It is no
/// name of `but`, which may be null.
void Mark(const BodyForm& form, const google::protobuf::FieldDescriptor* but, json& body) {
  for (const FormField& field : form.fields()) {
    json marked = body;
    marked[field.name] = Example(field.shape);
    if (field.field != but && !IsMarked(form, body) && IsMarked(form, marked)) {
      body = std::move(marked);
    }
  }
}

/// A body with the required fields of a form, and with the one from which its endpoint tells the
/// form if that is none of them.
json LeastBody(const BodyForm& form) {
  json body = json::object();
  for (const FormField& field : form.fields()) {
    if (field.is_required) {
      body[std::string(field.name)] = Example(field.shape);
    }
  }
  for (const Group& group : GroupsOf(form)) {
    body[group.front()] = "a";
  }
  Mark(form, /*but=*/nullptr, body);
  return body;
}

/// The same with a field, by this name only.
json BodyWith(const BodyForm& form, const FormField& field, const json& value) {
  json body = LeastBody(form);
  for (const FormField& other : form.fields()) {
    if (other.field == field.field) {
      body.erase(other.name);
    }
  }
  body[field.name] = value;
  Mark(form, field.field, body);
  return body;
}

/// "reason param" of the fault of a body; empty if there is none.
std::string Fault(const Endpoint& endpoint, const json& body) {
  const ParsedRequest parsed = endpoint.FromJson(body);
  return parsed ? "" : parsed.error().reason + " " + parsed.error().param;
}

TEST(Forms, EveryEndpointDescribesItsBodies) {
  std::map<std::string_view, const BodyForm*> names;
  for (const Endpoint* endpoint : Endpoints()) {
    EXPECT_FALSE(endpoint->forms().empty()) << endpoint->name();
    for (const BodyForm* form : endpoint->forms()) {
      // Two endpoints may have the same form.
      const BodyForm& known = *names.emplace(form->name(), form).first->second;
      EXPECT_EQ(&known.message(), &form->message()) << form->name();
      EXPECT_FALSE(form->description().empty()) << form->name();
      std::set<std::string_view> fields;
      for (const FormField& field : form->fields()) {
        EXPECT_TRUE(fields.insert(field.name).second) << field.name;
        EXPECT_FALSE(field.description.empty()) << form->name() << " " << field.name;
        EXPECT_TRUE(field.default_json.empty() || json::accept(field.default_json)) << field.name;
        EXPECT_FALSE(field.saturates_at && !field.maximum) << field.name;
      }
      for (const RefusedField& refused : form->refused()) {
        EXPECT_TRUE(fields.insert(refused.name).second) << refused.name;
        EXPECT_TRUE(json::parse(refused.neutral_json).is_array()) << refused.name;
      }
    }
  }
}

TEST(Forms, EndpointsReadTheFieldsOfTheirForms) {
  for (const Endpoint* endpoint : Endpoints()) {
    for (const BodyForm* form : endpoint->forms()) {
      SCOPED_TRACE(form->name());
      const json least = LeastBody(*form);
      EXPECT_EQ(Fault(*endpoint, least), "");
      for (const FormField& field : form->fields()) {
        const std::string name(field.name);
        EXPECT_EQ(Fault(*endpoint, BodyWith(*form, field, Example(field.shape))), "") << name;
        const bool takes_objects =
            field.shape.kind == JsonShape::Kind::kPairs ||
            (field.shape.kind == JsonShape::Kind::kAny && !field.shape.is_list) ||
            (form->name() == "SystemOneRequest" && name == "state");
        if (field.shape.kind != JsonShape::Kind::kObject || field.shape.is_list) {
          EXPECT_EQ(Fault(*endpoint, BodyWith(*form, field, json::object())),
                    takes_objects ? "" : "wrong_type " + name);
        }
        if (!field.default_json.empty()) {
          EXPECT_EQ(Fault(*endpoint, BodyWith(*form, field, json::parse(field.default_json))), "")
              << name;
        }
        if (!field.is_required && GroupOf(*form, name).empty()) {
          EXPECT_EQ(Fault(*endpoint, BodyWith(*form, field, nullptr)), "") << name;
        }
      }
      json unknown = least;
      unknown["user"] = "me";
      unknown["metadata"] = {{"a", 1}};
      EXPECT_EQ(Fault(*endpoint, unknown), form->refuses_unknown() ? "unknown_field metadata" : "");
    }
  }
}

TEST(Forms, EndpointsRefuseByNameWhatWouldChangeTheResult) {
  for (const Endpoint* endpoint : Endpoints()) {
    for (const BodyForm* form : endpoint->forms()) {
      for (const RefusedField& refused : form->refused()) {
        std::string name(refused.name);
        if (name.starts_with('*')) {
          name.replace(0, 1, "item");
        }
        SCOPED_TRACE(std::string(form->name()) + " " + name);
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

// What C++ checks and what is described are written twice.
TEST(Forms, BoundsAreThoseThatAreChecked) {
  for (const Endpoint* endpoint : Endpoints()) {
    for (const BodyForm* form : endpoint->forms()) {
      for (const FormField& field : form->fields()) {
        if (field.name == "priority") {
          EXPECT_EQ(field.minimum, static_cast<double>(kMinPriority));
          EXPECT_EQ(field.saturates_at.value_or(static_cast<std::int64_t>(*field.maximum)),
                    kMaxPriority);
        } else if (field.name == "top_logprobs") {
          EXPECT_EQ(
              field.maximum,
              static_cast<double>(endpoint->name() == "chat" ? kMostLogprobs : kMaxTopLogprobs));
        }
      }
    }
  }
}

}  // namespace forms_test
}  // namespace scorecast::coordinator
