#include "proto/model/sentence_bert_file.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"

namespace scorecast::proto {
namespace {

constexpr std::int64_t kMostBytes = 16 << 20;

constexpr std::array<std::string_view, 7> kSentenceBertNames = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

/// Arguments that count as fields of config.json do. transformers sets them after it has derived
/// other fields, so a field from which others are derived is none of them.
constexpr std::array<std::string_view, 17> kArguments = {"attn_logit_softcapping",
                                                         "bos_token_id",
                                                         "classifier_pooling",
                                                         "eos_token_id",
                                                         "final_logit_softcapping",
                                                         "hidden_act",
                                                         "hidden_activation",
                                                         "is_causal",
                                                         "layer_norm_eps",
                                                         "max_position_embeddings",
                                                         "norm_eps",
                                                         "num_hidden_layers",
                                                         "num_labels",
                                                         "pad_token_id",
                                                         "problem_type",
                                                         "rms_norm_eps",
                                                         "use_bidirectional_attention"};

/// Arguments that change no number of a loaded model, or say where files are downloaded from.
constexpr std::array<std::string_view, 20> kIdleArguments = {"attention_dropout",
                                                             "attention_probs_dropout_prob",
                                                             "attn_implementation",
                                                             "cache_dir",
                                                             "classifier_dropout",
                                                             "dtype",
                                                             "experts_implementation",
                                                             "force_download",
                                                             "hidden_dropout_prob",
                                                             "local_files_only",
                                                             "name_or_path",
                                                             "output_attentions",
                                                             "output_hidden_states",
                                                             "return_dict",
                                                             "revision",
                                                             "subfolder",
                                                             "token",
                                                             "torch_dtype",
                                                             "trust_remote_code",
                                                             "use_cache"};

bool IsEmptyObject(std::string_view text) {
  std::string compact(text);
  std::erase_if(compact, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  return compact == "{}";
}

void ApplyArgument(const Fields& arguments, const std::string& name, const Json& value,
                   Json& config) {
  if (std::ranges::find(kIdleArguments, name) != kIdleArguments.end()) {
    return;
  }
  if (std::ranges::find(kArguments, name) == kArguments.end()) {
    arguments.Refuse(name, value, "not supported: write it to config.json");
  }
  config[name] = value;
  const auto labels = config.find("id2label");
  if (name == "num_labels" && labels != config.end() && value != labels->size()) {
    config.erase(labels);
  }
}

}  // namespace

std::optional<std::filesystem::path> FindSentenceBertFile(const std::filesystem::path& model_dir) {
  std::optional<std::filesystem::path> found;
  for (const std::string_view name : kSentenceBertNames) {
    const std::filesystem::path file = model_dir / name;
    if (FileExists(file)) {
      found = file;
      if (!IsEmptyObject(ReadRegularFile(file, kMostBytes))) {
        break;
      }
    }
  }
  return found;
}

std::string ApplyConfigArguments(const std::filesystem::path& model_dir, const std::string& origin,
                                 Json& config) {
  const std::optional<std::filesystem::path> file = FindSentenceBertFile(model_dir);
  if (!file || !FileExists(model_dir / "modules.json")) {
    return origin;
  }
  const std::string where = OneLinePath(file->string());
  const Json root = ParseObject(ReadRegularFile(*file, kMostBytes), where);
  const Fields fields(root, where, "");
  std::string described = origin;
  for (const std::string_view name : {"config_kwargs", "config_args"}) {
    const Json* arguments = fields.FindNonNull(name);
    if (arguments == nullptr || (name == "config_kwargs" && root.contains("config_args"))) {
      continue;
    }
    const Fields nested = fields.Nested(name, *arguments);
    for (const auto& [argument, value] : arguments->items()) {
      ApplyArgument(nested, argument, value, config);
      described = origin + " with the " + std::string(name) + " of " + where;
    }
  }
  return described;
}

}  // namespace scorecast::proto
