#include "coordinator/resources/info.h"

#include <nlohmann/json.hpp>

#include "coordinator/json/json_text.h"

namespace scorecast::coordinator {
namespace {

/// TEI's name of a precision.
std::string DtypeName(const std::string& dtype) {
  if (dtype == "f32") {
    return "float32";
  }
  return dtype == "bf16" ? "bfloat16" : dtype;
}

/// A reranker has one score. It gets the name that transformers gives to a single label by default.
OrderedJson ModelType(const ServiceFacts& facts) {
  OrderedJson type;
  if (facts.options.reranker) {
    type["reranker"]["id2label"]["0"] = "LABEL_0";
    type["reranker"]["label2id"]["LABEL_0"] = 0;
  } else {
    type[facts.config.is_classifier() ? "classifier" : "causal_lm"] = OrderedJson::object();
  }
  return type;
}

}  // namespace

Resource InfoResource(const ServiceFacts& facts) {
  OrderedJson body;
  body["model_id"] = facts.options.model_name;
  body["model_sha"] = nullptr;
  body["model_dtype"] = DtypeName(facts.dtype);
  body["model_type"] = ModelType(facts);
  body["max_concurrent_requests"] = facts.max_queue;
  body["max_input_length"] = facts.config.max_position_embeddings;
  body["max_batch_tokens"] = facts.max_batch_tokens;
  body["max_batch_requests"] = nullptr;
  body["max_client_batch_size"] = facts.options.max_items;
  body["auto_truncate"] = false;
  body["tokenization_workers"] = facts.tokenizing_threads;
  body["version"] = facts.version;
  body["sha"] = nullptr;
  body["docker_label"] = nullptr;
  return {.path = "/info",
          .get = [text = ToJsonText(body)] { return ResourceContent{.body = text}; },
          .description = "The model and the limits of this server, as TEI describes them."};
}

}  // namespace scorecast::coordinator
