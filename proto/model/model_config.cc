#include "proto/model/model_config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "proto/model/config_encoders.h"
#include "proto/model/config_fields.h"
#include "proto/model/config_heads.h"
#include "proto/model/config_layers.h"
#include "proto/model/config_obstacles.h"
#include "proto/model/families.h"
#include "proto/model/generation_config.h"
#include "proto/model/model_keys.h"
#include "proto/model/sentence_bert_file.h"
#include "proto/model/sentence_modules.h"
#include "proto/model/token_id.h"

namespace scorecast::proto {
namespace {

// The bounds are far above those of any model, yet small enough that the size of a tensor or of a
// whole model does not overflow 64 bits.
constexpr Bounds kHiddenSize{1, 1 << 20};
constexpr Bounds kLayers{1, 1 << 12};
constexpr Bounds kIntermediateSize{1, 1 << 24};
constexpr Bounds kVocabSize{1, 1 << 24};

constexpr std::int64_t kMaxConfigBytes = 16 << 20;

/// A family, and which of its architectures a model has.
struct Architecture {
  const Family& family;
  std::string_view name;

  bool is_classifier() const { return name == family.classifier; }
  bool is_language_model() const { return name == family.language_model; }
};

/// If config.json has no architectures, the model is the language model of its model_type, or the
/// base model if the family has no language model.
Architecture FindByModelType(const Fields& fields) {
  const Json* model_type = fields.FindNonNull("model_type");
  if (model_type == nullptr) {
    fields.Fail("neither architectures nor model_type is there to say what the model is");
  }
  std::string list;
  for (const Family& family : kFamilies) {
    if (*model_type == family.model_type) {
      return {family, family.language_model.empty() ? family.base_model : family.language_model};
    }
    list += (list.empty() ? "" : ", ") + std::string(family.model_type);
  }
  fields.Refuse("model_type", *model_type, "supported are " + list);
}

Architecture FindArchitecture(const Fields& fields) {
  const Json* architectures = fields.FindNonNull("architectures");
  if (architectures == nullptr || (architectures->is_array() && architectures->empty())) {
    return FindByModelType(fields);
  }
  if (!architectures->is_array() || architectures->size() != 1) {
    fields.Refuse("architectures", *architectures, "it must be a list of one name");
  }
  const Json& name = architectures->front();
  for (const Family& family : kFamilies) {
    const auto known = {family.language_model, family.classifier, family.base_model,
                        family.masked_language_model};
    const auto* const found_name = std::ranges::find_if(known, [&](std::string_view architecture) {
      return !architecture.empty() && name == architecture;
    });
    if (found_name == known.end()) {
      continue;
    }
    const Architecture found{family, *found_name};
    const Json* model_type = fields.FindNonNull("model_type");
    if (model_type != nullptr && *model_type != family.model_type) {
      fields.Refuse("model_type", *model_type,
                    "a " + std::string(found.name) + " is of type \"" +
                        std::string(family.model_type) + "\"");
    }
    return found;
  }
  fields.Refuse("architectures[0]", name, WhyUnsupported(fields, name));
}

struct ActivationName {
  std::string_view name;
  Activation activation;
};

constexpr std::array kActivations = {
    ActivationName{"silu", Activation::kSilu},
    ActivationName{"swish", Activation::kSilu},
    ActivationName{"gelu", Activation::kGelu},
    ActivationName{"gelu_python", Activation::kGelu},
    ActivationName{"gelu_pytorch_tanh", Activation::kGeluTanh},
    ActivationName{"gelu_new", Activation::kGeluTanh},
    ActivationName{"gelu_fast", Activation::kGeluTanh},
    ActivationName{"relu", Activation::kRelu},
};

Activation ActivationOf(const Fields& fields, std::string_view name, const Json& value,
                        const Family& family) {
  if (family.hidden_act_gelu_is_tanh && name == "hidden_act" && value == "gelu") {
    return Activation::kGeluTanh;
  }
  std::string list;
  for (const ActivationName& known : kActivations) {
    if (value == known.name) {
      return known.activation;
    }
    list += (list.empty() ? "" : ", ") + std::string(known.name);
  }
  fields.Refuse(name, value, "not supported (supported are " + list + ")");
}

/// transformers uses only the field that the family has. Some files have the other field, too; then
/// the two must mean the same.
Activation ReadActivation(const Fields& fields, const Family& family) {
  const Json* value = fields.Find(family.names.activation);
  const Activation activation = value == nullptr
                                    ? family.activation
                                    : ActivationOf(fields, family.names.activation, *value, family);
  const std::string_view other =
      family.names.activation == "hidden_act" ? "hidden_activation" : "hidden_act";
  const Json* other_value = fields.FindNonNull(other);
  if (other_value != nullptr && ActivationOf(fields, other, *other_value, family) != activation) {
    fields.Refuse(other, *other_value, "it contradicts " + std::string(family.names.activation));
  }
  return activation;
}

/// transformers takes the usual name of a size also if the family has a name of its own for it, so
/// the two must agree.
void RefuseContradictions(const Fields& fields, const FieldNames& names) {
  const FieldNames usual;
  for (const auto& [own, other] :
       {std::pair(names.hidden_size, usual.hidden_size),
        std::pair(names.num_hidden_layers, usual.num_hidden_layers),
        std::pair(names.num_attention_heads, usual.num_attention_heads)}) {
    const Json* value = fields.Find(own);
    const Json* other_value = fields.FindNonNull(other);
    if (value != nullptr && other_value != nullptr && *value != *other_value) {
      fields.Refuse(other, *other_value, "it contradicts " + std::string(own));
    }
  }
}

void ReadAttentionOptions(const Fields& fields, const Family& family, ModelConfig& config) {
  if (family.query_pre_attn_scalar) {
    config.query_scale = 1.0 / std::sqrt(fields.PositiveNumber("query_pre_attn_scalar",
                                                               *family.query_pre_attn_scalar));
  }
  if (!family.softcapping) {
    return;
  }
  const auto softcapping = [&fields](std::string_view name, std::optional<double> absent) {
    return fields.Find(name) == nullptr ? absent : fields.OptionalPositiveNumber(name);
  };
  if (family.softcapping->caps_attention) {
    config.attn_logit_softcapping =
        softcapping("attn_logit_softcapping", family.softcapping->attention);
  }
  config.final_logit_softcapping =
      softcapping("final_logit_softcapping", family.softcapping->logits);
}

void ReadBiases(const Fields& fields, const Family& family, ModelConfig& config) {
  switch (family.attention_bias) {
    case AttentionBias::kNone:
      break;
    case AttentionBias::kQkv:
      config.attention_bias = true;
      break;
    case AttentionBias::kAll:
      config.attention_bias = true;
      config.attention_output_bias = true;
      break;
    case AttentionBias::kAsConfigured:
      config.attention_bias = fields.Bool("attention_bias", false);
      config.attention_output_bias = config.attention_bias;
      break;
  }
  config.mlp_bias = family.has_mlp_bias ? fields.Bool("mlp_bias", false) : family.mlp_bias;
}

std::vector<TokenId> ReadTokenIds(const Fields& fields, std::string_view name,
                                  std::int64_t vocab_size) {
  const Json* value = fields.FindNonNull(name);
  if (value == nullptr) {
    return {};
  }
  const Bounds ids{0, vocab_size - 1};
  if (!value->is_array()) {
    return {static_cast<TokenId>(fields.IntegerOf(name, *value, ids))};
  }
  std::vector<TokenId> tokens;
  for (const Json& id : *value) {
    const std::string element = std::string(name) + "[" + std::to_string(tokens.size()) + "]";
    tokens.push_back(static_cast<TokenId>(fields.IntegerOf(element, id, ids)));
  }
  return tokens;
}

std::optional<TokenId> ReadTokenId(const Fields& fields, std::string_view name,
                                   std::int64_t vocab_size) {
  const Json* value = fields.FindNonNull(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  return static_cast<TokenId>(fields.IntegerOf(name, *value, {0, vocab_size - 1}));
}

/// transformers 5 writes `dtype`, 4 `torch_dtype`.
std::string ReadDtype(const Fields& fields) {
  for (const std::string_view name : {"dtype", "torch_dtype"}) {
    const Json* value = fields.FindNonNull(name);
    if (value == nullptr) {
      continue;
    }
    return OneLine(fields.StringOf(name, *value), 80);
  }
  return {};
}

/// The head that SentenceTransformer gives to a model that has no modules.
ReadHead DefaultEmbedderHead(const ModelConfig& config) {
  const Pooling pooling =
      config.architecture.ends_with("ForCausalLM") ? Pooling::kLast : Pooling::kMean;
  return {.pooling = {pooling}, .output_size = config.hidden_size};
}

/// Makes the model what the task and the modules say, which must be possible.
void ApplyTask(const std::filesystem::path& model_dir, Task task, const SentenceModules& modules,
               ModelConfig& config) {
  const std::string where = OneLinePath(model_dir.string()) + ": ";
  if (modules.make_scores() && task != Task::kEmbed) {
    config.read_head = modules.Head(config.hidden_size);
    config.num_labels = config.read_head->output_size;
    config.problem_type.reset();  // It is said of the architecture's own head.
    config.final_logit_softcapping.reset();
    return;
  }
  const bool is_language_model = !config.is_classifier() && !config.read_head;
  if (task == Task::kClassify || task == Task::kGenerate) {
    const bool is_possible = task == Task::kClassify ? config.is_classifier() : is_language_model;
    if (!is_possible) {
      throw StartupError(where + "a " + config.architecture + " cannot " +
                         (task == Task::kClassify ? "classify" : "generate") +
                         ", as --task says, because it has no head for that");
    }
    return;
  }
  if (modules.make_embeddings()) {
    config.read_head = modules.Head(config.hidden_size);
  } else if (task == Task::kOfDirectory) {
    if (modules.is_cross_encoder() && config.is_embedder()) {
      throw StartupError(where + "a " + config.architecture +
                         " has no head that makes the scores of a CrossEncoder, and neither has "
                         "modules.json (--task embed: its embeddings)");
    }
    return;
  } else if (!config.is_embedder()) {
    config.read_head = DefaultEmbedderHead(config);
  }
  config.num_labels = 0;
  config.problem_type.reset();
  config.final_logit_softcapping.reset();
}

/// A token ends a completion if config.json or generation_config.json says so.
void AddEosIds(const std::vector<TokenId>& ids, ModelConfig& config) {
  for (const TokenId id : ids) {
    if (std::ranges::find(config.eos_token_ids, id) == config.eos_token_ids.end()) {
      config.eos_token_ids.push_back(id);
    }
  }
}

/// How to get a model whose name on huggingface.co, "Qwen/Qwen3-0.6B", is given instead of a
/// directory. Empty if the path is not such a name.
std::string DownloadHint(const std::string& path) {
  const auto is_part = [](std::string_view part) {
    return !part.empty() && part.front() != '.' &&
           part.find_first_not_of(
               "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
               "-_.") == std::string_view::npos;
  };
  const std::string_view text = path;
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !is_part(text.substr(0, slash)) ||
      !is_part(text.substr(slash + 1))) {
    return "";
  }
  const std::string name(text.substr(slash + 1));
  return "; to download the model of this name: hf download " + path + " --local-dir " + name +
         ", then give --model " + name;
}

ModelConfig ReadModelConfig(const Json& root, const std::string& where,
                            std::span<const IgnoredKey> ignored) {
  const Fields fields(root, where, "");
  // First what no family has, because the message can then name the kind of model.
  RefuseObstacles(fields, /*family=*/nullptr, ignored);
  const Architecture architecture = FindArchitecture(fields);
  const Family& family = architecture.family;
  RefuseObstacles(fields, &family, ignored);

  ModelConfig config;
  config.architecture = architecture.name;
  config.model_type = family.model_type;
  config.tensor_naming = family.tensor_naming;
  config.base_prefix = family.base_prefix;
  RefuseContradictions(fields, family.names);
  config.hidden_size = fields.Integer(family.names.hidden_size, kHiddenSize);
  const std::int64_t layers = fields.Integer(family.names.num_hidden_layers, kLayers);
  config.intermediate_size = fields.Integer(family.names.intermediate_size, kIntermediateSize);
  config.vocab_size = fields.Integer("vocab_size", kVocabSize);
  config.max_position_embeddings = fields.OptionalInteger("max_position_embeddings", kPositions)
                                       .value_or(family.max_position_embeddings);
  ReadAttentionHeads(fields, family, config);
  ReadAttentionOptions(fields, family, config);
  ReadBiases(fields, family, config);
  ReadPositions(fields, family, config);
  config.bidirectional = ReadBidirectional(fields, family);
  config.layers = ReadLayers(fields, family, layers, config.bidirectional);
  ReadNorms(fields, family, config);
  config.gated_feedforward = family.gated_feedforward;
  config.hidden_activation = ReadActivation(fields, family);
  if (family.scaled_embeddings) {
    // transformers rounds this to the dtype in which it computes. Here that dtype is float32.
    config.embedding_scale = std::sqrt(static_cast<double>(config.hidden_size));
  }
  config.tie_word_embeddings = fields.Bool("tie_word_embeddings", family.tie_word_embeddings);
  if (architecture.is_classifier()) {
    config.num_labels = ReadNumLabels(fields);
    config.problem_type = ReadProblemType(fields, config.num_labels);
    config.final_logit_softcapping.reset();  // Only the logits of an lm-head are soft-capped.
  }
  const bool has_head = architecture.is_classifier() || architecture.is_language_model();
  if (config.bidirectional || !has_head) {
    config.tie_word_embeddings = false;  // The head of which that is said is not read.
    config.final_logit_softcapping.reset();
    config.read_head = architecture.is_classifier() ? ReadClassifierHead(fields, family, config)
                                                    : ReadEmbedderHead(fields, family, config);
  }

  config.dtype = ReadDtype(fields);
  config.bos_token_id = ReadTokenId(fields, "bos_token_id", config.vocab_size);
  config.eos_token_ids = ReadTokenIds(fields, "eos_token_id", config.vocab_size);
  return config;
}

}  // namespace

ModelConfig ParseModelConfig(std::string_view json_text, const std::string& origin,
                             std::span<const IgnoredKey> ignored) {
  const std::string where = OneLinePath(origin);
  return ReadModelConfig(ParseObject(json_text, where), where, ignored);
}

ModelConfig LoadModelConfig(const std::filesystem::path& model_dir, Task task,
                            std::span<const IgnoredKey> ignored) {
  std::error_code no_matter;
  if (!std::filesystem::is_directory(model_dir, no_matter)) {
    throw StartupError(OneLinePath(model_dir.string()) + " is not a directory" +
                       DownloadHint(model_dir.string()));
  }
  // --task generate asks for the model's own lm-head, whatever its modules are.
  const SentenceModules modules =
      task == Task::kGenerate ? SentenceModules() : SentenceModules(model_dir);
  if (task == Task::kOfDirectory) {
    modules.RefuseUnsupported();  // Before config.json, which unsupported modules may not have.
  }
  const std::filesystem::path path = model_dir / "config.json";
  const std::string origin = OneLine(path.string(), 4096);
  if (!FileExists(path)) {
    throw StartupError(origin + ": there is no such file");
  }
  Json root = ParseObject(ReadRegularFile(path, kMaxConfigBytes), origin);
  const ConfigArguments arguments =
      task == Task::kGenerate ? ConfigArguments() : ReadConfigArguments(model_dir);
  ApplyConfigArguments(arguments, root);
  const std::string where =
      arguments.origin.empty() ? origin : origin + " with the " + arguments.origin;
  ModelConfig config = ReadModelConfig(root, where, ignored);
  AddEosIds(EosIdsOfGenerationConfig(model_dir, config.vocab_size), config);
  ApplyTask(model_dir, task, modules, config);
  const bool has_modules = task == Task::kOfDirectory || task == Task::kEmbed ||
                           (task == Task::kClassify && modules.make_scores());
  CheckModelKeys(model_dir, config.model_type, has_modules, ignored);
  return config;
}

}  // namespace scorecast::proto
