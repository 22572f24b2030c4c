#include "coordinator/resources/openapi.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "coordinator/endpoints/url_pattern.h"
#include "coordinator/json/response_writer.h"
#include "coordinator/resources/openapi_response.h"
#include "coordinator/resources/openapi_schema.h"

namespace scorecast::coordinator {
namespace {

OrderedJson Reference(std::string_view component) {
  return {{"$ref", "#/components/schemas/" + std::string(component)}};
}

/// "CohereEmbed" of "cohere_embed".
std::string CamelCase(std::string_view name) {
  std::string camel;
  bool begins = true;
  for (const char c : name) {
    if (c != '_') {
      camel += begins ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    }
    begins = c == '_';
  }
  return camel;
}

/// If a schema is one of several, generators name a type after it. So it gets a plain name.
OrderedJson Named(const std::string& name, OrderedJson schema, OrderedJson& schemas) {
  if (!schema.contains("anyOf")) {
    return schema;
  }
  schemas[name] = std::move(schema);
  return Reference(name);
}

/// One of the forms.
OrderedJson AnyResponse(std::span<const ResponseForm* const> forms, OrderedJson& schemas) {
  OrderedJson any = OrderedJson::array();
  for (const ResponseForm* form : forms) {
    any.push_back(ResponseSchema(*form, schemas));
  }
  return any.size() == 1 ? any.front() : OrderedJson{{"anyOf", std::move(any)}};
}

/// The errors of an endpoint. Those that come before the endpoint is known have a form of their
/// own.
OrderedJson ErrorResponses(const Endpoint& endpoint, OrderedJson& schemas) {
  std::vector<const ResponseForm*> forms = {&endpoint.error_form()};
  if (forms.front() != &UrlErrorForm()) {
    forms.push_back(&UrlErrorForm());
  }
  OrderedJson content;
  content["application/json"]["schema"] = AnyResponse(forms, schemas);
  OrderedJson responses;
  responses["4XX"] = {{"description", "The request is refused."}, {"content", content}};
  responses["5XX"] = {{"description", "The request could not be computed."}, {"content", content}};
  return responses;
}

bool CanStream(const Endpoint& endpoint) {
  return std::ranges::any_of(
      endpoint.forms(), [](const BodyForm* form) { return form->IndexOf("stream").has_value(); });
}

/// The letters and digits of a path, such as "v1_models_id".
std::string WordsOf(std::string_view path) {
  std::string words;
  for (const char c : path) {
    const bool is_in_word = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (is_in_word) {
      words += c;
    } else if (!words.empty() && words.back() != '_') {
      words += '_';
    }
  }
  while (words.ends_with('_')) {
    words.pop_back();
  }
  return words;
}

/// A name for the methods of generated clients: the endpoint's, and for a URL that is not its usual
/// one with that.
std::string OperationId(const Endpoint& endpoint, std::string_view url) {
  const std::string name(endpoint.name());
  return url == endpoint.urls().front() ? name : name + "_at_" + WordsOf(url);
}

/// Adds the parameter in the path to an operation, if its URL has one.
void AddPathParameter(std::string_view url, OrderedJson& operation) {
  if (const std::string_view name = PatternName(url); !name.empty()) {
    OrderedJson parameter = {{"name", name}, {"in", "path"}, {"required", true}};
    parameter["schema"] = {{"type", "string"}, {"minLength", 1}};
    operation["parameters"] = OrderedJson::array({std::move(parameter)});
  }
}

/// Adds the schemas of the responses to `schemas`.
OrderedJson PostOf(const Endpoint& endpoint, std::string_view url, OrderedJson& schemas) {
  OrderedJson operation;
  operation["operationId"] = OperationId(endpoint, url);
  std::string summary;
  OrderedJson forms = OrderedJson::array();
  for (const BodyForm* form : endpoint.forms()) {
    summary += (summary.empty() ? "" : " ") + form->description();
    forms.push_back(Reference(form->name()));
  }
  operation["summary"] = summary;
  AddPathParameter(url, operation);
  OrderedJson& body = operation["requestBody"];
  body["required"] = true;
  const std::string name = CamelCase(endpoint.name());
  body["content"]["application/json"]["schema"] =
      forms.size() == 1 ? forms.front()
                        : Named(name + "Body", {{"anyOf", std::move(forms)}}, schemas);
  for (const BodyForm* form : endpoint.forms()) {
    if (!form->example().empty()) {
      body["content"]["application/json"]["examples"][form->name()]["value"] =
          OrderedJson::parse(form->example());
    }
  }
  OrderedJson& responses = operation["responses"];
  responses["200"]["description"] = "The response.";
  OrderedJson& content = responses["200"]["content"];
  content["application/json"]["schema"] =
      Named(name + "Reply", AnyResponse(endpoint.response_forms(), schemas), schemas);
  if (CanStream(endpoint)) {
    content["text/event-stream"]["schema"] = OrderedJson::object();
  }
  responses.update(ErrorResponses(endpoint, schemas));
  return operation;
}

OrderedJson GetOf(const Resource& resource) {
  OrderedJson operation;
  operation["operationId"] = "get_" + WordsOf(resource.path);
  operation["summary"] = resource.description;
  AddPathParameter(resource.path, operation);
  OrderedJson any;
  any["application/json"]["schema"] = OrderedJson::object();
  any["text/plain"]["schema"]["type"] = "string";
  OrderedJson& responses = operation["responses"];
  responses["200"] = {{"description", "The content."}, {"content", any}};
  responses["4XX"] = {{"description", "There is none."}, {"content", any}};
  responses["5XX"] = {{"description", "The service is not in order."}, {"content", any}};
  return operation;
}

}  // namespace

OrderedJson OpenApiDocument(EndpointList endpoints, std::span<const Resource> resources,
                            const std::string& version) {
  OrderedJson document;
  document["openapi"] = "3.1.0";
  document["info"] = {
      {"title", "scorecast"},
      {"description", "Scores, reranks and completes with a causal language model."},
      {"version", version}};
  document["servers"].push_back({{"url", "/"}});
  OrderedJson paths = OrderedJson::object();
  OrderedJson schemas = OrderedJson::object();
  for (const Endpoint* endpoint : endpoints) {
    for (const std::string_view url : endpoint->urls()) {
      paths[std::string(url)]["post"] = PostOf(*endpoint, url, schemas);
    }
    for (const BodyForm* form : endpoint->forms()) {
      schemas[form->name()] = SchemaOf(*form);
    }
  }
  if (!endpoints.empty()) {
    schemas["Document"] = DocumentSchema();
  }
  for (const Resource& resource : resources) {
    paths[resource.path]["get"] = GetOf(resource);
  }
  document["paths"] = std::move(paths);
  OrderedJson& components = document["components"];
  components["schemas"] = std::move(schemas);
  components["securitySchemes"]["bearer"] = {{"type", "http"}, {"scheme", "bearer"}};
  // A service may need no keys.
  document["security"] = {{{"bearer", OrderedJson::array()}}, OrderedJson::object()};
  return document;
}

Resource OpenApiResource(EndpointList endpoints, std::span<const Resource> resources,
                         const std::string& version) {
  Resource own{.path = "/openapi.json", .description = "This document."};
  std::vector<Resource> all(resources.begin(), resources.end());
  all.push_back(own);
  ResourceContent content{.body = ToJsonText(OpenApiDocument(endpoints, all, version))};
  own.get = [content = Share(std::move(content))] { return content; };
  return own;
}

}  // namespace scorecast::coordinator
