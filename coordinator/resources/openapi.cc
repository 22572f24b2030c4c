#include "coordinator/resources/openapi.h"

#include <algorithm>
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
  if (forms.front() != &ErrorForm()) {
    forms.push_back(&ErrorForm());
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

/// `url` makes the operation's id its own. Adds the schemas of its responses to `schemas`.
OrderedJson PostOf(const Endpoint& endpoint, std::string_view url, OrderedJson& schemas) {
  OrderedJson operation;
  operation["operationId"] = "post" + std::string(url);
  std::string summary;
  OrderedJson forms = OrderedJson::array();
  for (const BodyForm* form : endpoint.forms()) {
    summary += (summary.empty() ? "" : " ") + form->description();
    forms.push_back(Reference(form->name()));
  }
  operation["summary"] = summary;
  if (const std::string_view name = PatternName(url); !name.empty()) {
    OrderedJson parameter = {{"name", name}, {"in", "path"}, {"required", true}};
    parameter["schema"] = {{"type", "string"}, {"minLength", 1}};
    operation["parameters"] = OrderedJson::array({std::move(parameter)});
  }
  OrderedJson& body = operation["requestBody"];
  body["required"] = true;
  body["content"]["application/json"]["schema"] =
      forms.size() == 1 ? forms.front() : OrderedJson{{"anyOf", std::move(forms)}};
  OrderedJson& responses = operation["responses"];
  responses["200"]["description"] = "The response.";
  OrderedJson& content = responses["200"]["content"];
  content["application/json"]["schema"] = AnyResponse(endpoint.response_forms(), schemas);
  if (CanStream(endpoint)) {
    content["text/event-stream"] = OrderedJson::object();
  }
  responses.update(ErrorResponses(endpoint, schemas));
  return operation;
}

OrderedJson GetOf(const Resource& resource) {
  OrderedJson operation;
  operation["operationId"] = "get" + resource.path;
  operation["summary"] = resource.description;
  OrderedJson any;
  any["*/*"] = OrderedJson::object();
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
