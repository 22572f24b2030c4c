#include "coordinator/resources/models.h"

#include <chrono>

#include <nlohmann/json.hpp>

#include "coordinator/json/json_text.h"
#include "coordinator/rerank/reranker.h"

namespace scorecast::coordinator {
namespace {

/// The template with which the server reranks, or the reason why it does not rerank.
OrderedJson RerankTemplateJson(const ServerOptions& options) {
  OrderedJson json;
  json["name"] = options.reranker ? OrderedJson(options.reranker->name()) : OrderedJson();
  json["reason"] = options.reranker ? options.reranker->reason() : options.no_reranker_reason;
  return json;
}

}  // namespace

Resource ModelsResource(const ServiceFacts& facts) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  OrderedJson model;
  model["id"] = facts.options.model_name;
  model["object"] = "model";
  model["created"] = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  model["owned_by"] = "scorecast";
  model["max_model_len"] = facts.config.max_position_embeddings;
  model["rerank_template"] = RerankTemplateJson(facts.options);
  OrderedJson body;
  body["object"] = "list";
  body["data"] = OrderedJson::array({std::move(model)});
  return {.path = "/v1/models",
          .get = [text = ToJsonText(body)] { return ResourceContent{.body = text}; },
          .description = "The model of this server, in OpenAI's list of models."};
}

}  // namespace scorecast::coordinator
