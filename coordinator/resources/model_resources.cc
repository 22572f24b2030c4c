#include "coordinator/resources/model_resources.h"

#include <algorithm>
#include <ctime>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/chat/chat_prompts.h"
#include "coordinator/decisions/decider.h"
#include "coordinator/json/json_text.h"
#include "coordinator/json/response_writer.h"
#include "coordinator/request/model_kind.h"
#include "coordinator/request/request_error.h"
#include "coordinator/rerank/reranker.h"
#include "coordinator/text/files/model_file.h"

namespace scorecast::coordinator {
namespace {

/// TEI's name of a precision.
std::string DtypeName(const std::string& dtype) {
  if (dtype == "f32") {
    return "float32";
  }
  return dtype == "bf16" ? "bfloat16" : dtype;
}

/// TEI's name of a pooling.
std::string PoolingName(const proto::ReadHead& head) {
  switch (head.pooling.front()) {
    case proto::Pooling::kCls:
      return "cls";
    case proto::Pooling::kMax:
      return "max";
    case proto::Pooling::kMean:
      return "mean";
    case proto::Pooling::kLast:
      break;
  }
  return "last_token";
}

OrderedJson LabelsJson(const std::vector<std::string>& names) {
  OrderedJson labels;
  for (std::size_t i = 0; i < names.size(); ++i) {
    labels["id2label"][std::to_string(i)] = names[i];
    labels["label2id"][names[i]] = i;
  }
  return labels;
}

/// A reranker has one score. Without labels it gets the name that transformers gives to a single
/// label by default.
OrderedJson ModelType(const ServiceFacts& facts) {
  OrderedJson type;
  const std::vector<std::string>& names = facts.options.label_names;
  if (facts.config.is_embedder()) {
    type["embedding"]["pooling"] = PoolingName(*facts.config.read_head);
  } else if (!names.empty()) {
    type[names.size() == 1 ? "reranker" : "classifier"] = LabelsJson(names);
  } else if (facts.options.reranker) {
    type["reranker"]["id2label"]["0"] = "LABEL_0";
    type["reranker"]["label2id"]["LABEL_0"] = 0;
  } else {
    type[facts.config.is_classifier() ? "classifier" : "causal_lm"] = OrderedJson::object();
  }
  return type;
}

/// The name of a template and why it was taken, or the reason why there is none.
template <typename Template>
OrderedJson TemplateJson(const Template* given, const std::string& why_not) {
  OrderedJson json;
  json["name"] = given == nullptr ? OrderedJson() : OrderedJson(given->name());
  json["reason"] = given == nullptr ? why_not : given->reason();
  return json;
}

/// "2026-11-24T12:00:00Z"
std::string DateTime(std::time_t time) {
  std::tm utc{};
  gmtime_r(&time, &utc);
  char text[32];
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

/// What Xinference's clients read: the one type that decides which requests they send, and all that
/// the model can do.
void AddXinferenceMembers(const ServiceFacts& facts, OrderedJson& model) {
  const ServerOptions& options = facts.options;
  OrderedJson abilities = OrderedJson::array();
  if (facts.config.is_embedder()) {
    abilities.push_back("embed");
    model["dimensions"] = facts.config.read_head->output_size;
    model["max_tokens"] = std::min(options.max_text_tokens, facts.config.max_position_embeddings);
  }
  if (options.reranker || (facts.config.is_classifier() && facts.config.num_labels == 1)) {
    abilities.push_back("rerank");
  }
  model["model_type"] = abilities.empty()              ? "LLM"
                        : abilities.front() == "embed" ? "embedding"
                                                       : "rerank";
  if (KindOf(facts.config) == ModelKind::kLanguageModel) {
    abilities.push_back("generate");
    if (options.chat) {
      abilities.push_back("chat");
    }
  }
  model["model_ability"] = std::move(abilities);
  model["model_name"] = options.model_name;
  model["context_length"] = facts.config.max_position_embeddings;
}

/// The model as OpenAI's clients read it, with what others read in the same object.
OrderedJson ModelJson(const ServiceFacts& facts) {
  OrderedJson model;
  model["id"] = facts.options.model_name;
  model["object"] = "model";
  model["created"] = facts.created;
  model["owned_by"] = "scorecast";
  model["max_model_len"] = facts.config.max_position_embeddings;
  const ServerOptions& options = facts.options;
  model["rerank_template"] = TemplateJson(options.reranker.get(), options.no_reranker_reason);
  model["decision_template"] = TemplateJson(options.decider.get(), options.no_decider_reason);
  model["chat_template"] = TemplateJson(options.chat.get(), options.no_chat_reason);
  AddXinferenceMembers(facts, model);
  return model;
}

/// Some files have a token as an object with its text and its flags. Clients of vLLM read a text.
void SpellTokens(OrderedJson& tokens) {
  for (OrderedJson& token : tokens) {
    if (token.is_object() && token.contains("content") && token["content"].is_string()) {
      token = OrderedJson(token["content"]);
    }
  }
}

ResourceContent TokenizerInfo(const std::filesystem::path& model_dir) {
  const std::filesystem::path config = model_dir / "tokenizer_config.json";
  if (!ModelFileExists(config)) {
    return {.status = 404,
            .body = ErrorJson({404, "no_tokenizer_config",
                               "The model directory has no tokenizer_config.json.", ""})};
  }
  OrderedJson body = OrderedJson::parse(ReadModelFile(config));
  SpellTokens(body);
  if (body.contains("additional_special_tokens")) {
    SpellTokens(body["additional_special_tokens"]);
  }
  const std::filesystem::path chat_template = model_dir / "chat_template.jinja";
  if (!body.contains("chat_template") && ModelFileExists(chat_template)) {
    body["chat_template"] = ReadModelFile(chat_template);
  }
  return {.body = ToJsonText(body)};
}

}  // namespace

Resource InfoResource(const ServiceFacts& facts) {
  OrderedJson body;
  body["model_id"] = facts.options.model_name;
  body["model_sha"] = nullptr;
  body["model_dtype"] = DtypeName(facts.dtype);
  body["model_type"] = ModelType(facts);
  body["max_concurrent_requests"] = facts.max_queue;
  body["max_input_length"] =
      std::min(facts.options.max_text_tokens, facts.config.max_position_embeddings);
  body["max_batch_tokens"] = facts.max_batch_tokens;
  body["max_batch_requests"] = nullptr;
  body["max_client_batch_size"] = facts.options.max_items;
  body["auto_truncate"] = false;
  body["tokenization_workers"] = facts.tokenizing_threads;
  body["version"] = facts.version;
  body["sha"] = nullptr;
  body["docker_label"] = nullptr;
  return {.path = "/info",
          .get = [content = Share({.body = ToJsonText(body)})] { return content; },
          .description = "The model and the limits of this server, as TEI describes them."};
}

Resource ModelsResource(const ServiceFacts& facts) {
  const ServerOptions& options = facts.options;
  OrderedJson decides;
  decides["name"] = options.model_name;
  decides["description"] = options.decider ? "Decides by the template " + options.decider->name()
                                           : options.no_decider_reason;
  decides["release_date"] = DateTime(facts.created);
  OrderedJson body;
  body["object"] = "list";
  body["data"] = OrderedJson::array({ModelJson(facts)});
  body["models"] = OrderedJson::array({std::move(decides)});
  return {.path = "/v1/models",
          .get = [content = Share({.body = ToJsonText(body)})] { return content; },
          .description =
              "The model of this server, in OpenAI's list of models and in that of the System One "
              "API."};
}

Resource ModelResource(const ServiceFacts& facts) {
  const auto model = [name = facts.options.model_name,
                      content =
                          Share({.body = ToJsonText(ModelJson(facts))})](std::string_view id) {
    return id == name ? content
                      : Share({.status = 404,
                               .body = ErrorJson(NoSuchModel(id, name), OpenAiErrorForm())});
  };
  return {.path = "/v1/models/{id}",
          .get = nullptr,
          .description = "The model of this server, as OpenAI and Xinference describe one.",
          .get_by_id = model};
}

Resource TokenizerInfoResource(const std::filesystem::path& model_dir) {
  return {.path = "/tokenizer_info",
          .get = [content = Share(TokenizerInfo(model_dir))] { return content; },
          .description = "The content of tokenizer_config.json."};
}

}  // namespace scorecast::coordinator
