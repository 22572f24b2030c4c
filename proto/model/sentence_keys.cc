// The keys of the files that sentence-transformers writes, and of adapters.

#include <algorithm>
#include <array>
#include <string_view>

#include "proto/model/key_tables.h"

namespace scorecast::proto {
namespace {

constexpr std::string_view kNoSuchKey = "sentence-transformers has no such key";
constexpr std::string_view kOnlyTexts = "only texts are supported";
constexpr std::string_view kHub = "the model's directory is given";
constexpr std::string_view kSavedBy = "it says what wrote the file";
constexpr std::string_view kFullWeights = "the full weights are read";

// processing_kwargs: how a tokenizer is called.

constexpr std::array kTextRows = {
    Followed("max_length").As(ValueKind::kNumber),
    Followed("add_special_tokens").As(ValueKind::kBool),
    Followed("truncation")
        .Only("[null, true, false, \"longest_first\", \"do_not_truncate\"]",
              "supported are true, false, \"longest_first\" and \"do_not_truncate\""),
    NoEffect("padding padding_side pad_to_multiple_of", "no text is padded"),
    NoEffect("return_tensors return_length return_offsets_mapping return_special_tokens_mask "
             "verbose",
             "it says what else the tokenizer returns"),
    NoEffect("stride", "what is cut off is not computed"),
    // 0 keeps all rows of logits, of which the last one is read.
    NoEffect("logits_to_keep", "the last row is read"),
};
constexpr KeyTable kTextKeys = ClosedTable(
    kTextRows, "not supported (supported are max_length, add_special_tokens and truncation)");

constexpr std::array kCommonRows = {
    NoEffect("padding padding_side pad_to_multiple_of", "no text is padded"),
    NoEffect("return_tensors verbose", "it says what else the tokenizer returns"),
};
constexpr KeyTable kCommonKeys = ClosedTable(kCommonRows, "not supported: texts have it in text");

constexpr std::array kChatTemplateArgumentRows = {
    Refused("add_generation_prompt", "[null, false]", "not supported"),
    Refused("restore_suffix", "[null, true]", "not supported"),
    NoEffect("padding return_tensors", "no text is padded"),
};
constexpr KeyTable kChatTemplateArgumentKeys =
    ClosedTable(kChatTemplateArgumentRows, "further variables of the template are not supported");

constexpr std::array kProcessingRows = {
    Followed("text").With(kTextKeys),
    Followed("common").With(kCommonKeys),
    Followed("chat_template").With(kChatTemplateArgumentKeys),
    NoEffect("image audio video", kOnlyTexts),
};
constexpr KeyTable kProcessingKeys = ClosedTable(kProcessingRows, kNoSuchKey);

// modality_config: what a text is given to, and what is taken of the result.

constexpr std::string_view kMethods = "[\"forward\"]";
constexpr std::string_view kMethodOutputs =
    "[\"last_hidden_state\", [\"last_hidden_state\"], \"logits\", [\"logits\"]]";

constexpr std::array kModalityRows = {
    Followed("method").Only(kMethods, "supported is \"forward\""),
    Followed("method_output_name")
        .Only(kMethodOutputs, "supported are \"last_hidden_state\" and \"logits\""),
    Followed("format").Only("[null, \"auto\", \"flat\", \"structured\"]",
                            "supported are \"flat\", \"structured\" and \"auto\""),
};
constexpr KeyTable kModalityKeys = ClosedTable(kModalityRows, kNoSuchKey);

constexpr std::array kModalitiesRows = {
    Followed("text message").With(kModalityKeys),
};
constexpr KeyTable kModalitiesKeys = ClosedTable(kModalitiesRows, kOnlyTexts);

// Arguments with which a model, its tokenizer and its configuration are loaded.

constexpr std::array kHubRows = {
    NoEffect("token revision cache_dir local_files_only subfolder trust_remote_code "
             "force_download proxies",
             kHub),
};
constexpr KeyTable kHubKeys = OpenTable(kHubRows);
constexpr std::string_view kNoSuchArgument = "not supported";

constexpr std::array kModelArgumentRows = {
    NoEffect("attn_implementation experts_implementation use_kernels", "scorecast has its own"),
    NoEffect("dtype torch_dtype", "--dtype says it"),
    NoEffect("device_map max_memory offload_folder offload_state_dict low_cpu_mem_usage tp_plan "
             "use_safetensors weights_only",
             "it says how weights are read"),
    NoEffect("add_pooling_layer", "the pooler's output is not read"),
};
constexpr KeyTable kModelArgumentKeys = ClosedTable(kModelArgumentRows, kNoSuchArgument, &kHubKeys);

// Other arguments are keys of the file that they override.
constexpr std::array kTokenizerArgumentRows = {
    NoEffect("use_fast", "there is one kind of tokenizer"),
};
constexpr KeyTable kHubAndTokenizerKeys{kHubRows, {}, &kTokenizerConfigKeys};
constexpr KeyTable kTokenizerArgumentKeys =
    ClosedTable(kTokenizerArgumentRows, kNoSuchArgument, &kHubAndTokenizerKeys);
constexpr KeyTable kConfigArgumentKeys = ClosedTable(kHubRows, kNoSuchArgument, &kConfigKeys);

constexpr std::array kSentenceConfigRows = {
    Followed("transformer_task")
        .Only("[null, \"feature-extraction\", \"sequence-classification\", \"text-generation\"]",
              "supported are \"feature-extraction\", \"sequence-classification\" and "
              "\"text-generation\""),
    Followed("modality_config").With(kModalitiesKeys),
    Followed("module_output_name")
        .Only("[null, \"token_embeddings\", \"scores\", \"causal_logits\"]",
              "supported are \"token_embeddings\", \"scores\" and \"causal_logits\""),
    Followed("processing_kwargs").With(kProcessingKeys),
    Followed("max_seq_length query_length document_length").As(ValueKind::kNumber),
    Followed("do_lower_case").As(ValueKind::kBool),
    Refused("query_expansion", "[null]", "multi-vector models are not supported"),
    Followed("config_kwargs config_args").With(kConfigArgumentKeys),
    Followed("processor_kwargs tokenizer_args").With(kTokenizerArgumentKeys),
    Followed("model_kwargs model_args").With(kModelArgumentKeys),
    Refused("tokenizer_name_or_path", "[null]", "the tokenizer must be in the model's directory"),
    NoEffect("unpad_inputs", "no text is padded"),
    NoEffect("backend", "scorecast is the backend"),
    NoEffect("cache_dir", kHub),
};

constexpr std::array kSentenceConfigAloneRows = {
    Followed("max_seq_length").As(ValueKind::kNumber),
    Followed("do_lower_case").As(ValueKind::kBool),
};

constexpr std::string_view kMultiVector = "multi-vector (ColBERT) models are not supported";

constexpr std::array kSentenceOptionsRows = {
    Followed("prompts").As(ValueKind::kObject),
    Followed("default_prompt_name activation_fn").As(ValueKind::kString),
    Followed("truncate_dim").As(ValueKind::kNumber),
    Followed("similarity_fn_name model_type"),
    Refused("query_length document_length query_expansion do_query_expansion "
            "attend_to_expansion_tokens attend_to_mask_tokens query_prefix document_prefix "
            "skiplist_words",
            "[null]", kMultiVector),
    Refused("max_active_dims", "[null]", "sparse vectors are not supported"),
    NoEffect("keep_in_fp32_modules", "heads are computed in float32"),
    NoEffect("requirements", "no Python package is needed"),
    NoEffect("__version__", kSavedBy),
};

constexpr std::array kModuleListRows = {
    Followed("type path").As(ValueKind::kString),
    NoEffect("idx name", "the order of the list counts"),
    Refused("kwargs", "[null, []]", "arguments of modules are not supported"),
};

// The config.json of modules.

constexpr std::array kPoolingRows = {
    Followed("embedding_dimension word_embedding_dimension pooling_mode pooling_mode_cls_token "
             "pooling_mode_max_tokens pooling_mode_mean_tokens pooling_mode_mean_sqrt_len_tokens "
             "pooling_mode_weightedmean_tokens pooling_mode_lasttoken include_prompt"),
};
constexpr KeyTable kPoolingKeys = ClosedTable(kPoolingRows, kNoSuchKey);

constexpr std::array kDenseRows = {
    Followed("in_features out_features bias activation_function module_input_name "
             "module_output_name use_residual"),
};
constexpr KeyTable kDenseKeys = ClosedTable(kDenseRows, kNoSuchKey);

constexpr std::array kNormalizeRows = {
    Followed("module_input_name module_output_name"),
};
constexpr KeyTable kNormalizeKeys = ClosedTable(kNormalizeRows, kNoSuchKey);

constexpr std::array kLayerNormRows = {
    Followed("dimension"),
};
constexpr KeyTable kLayerNormKeys = ClosedTable(kLayerNormRows, kNoSuchKey);

constexpr std::array kDropoutRows = {
    NoEffect("dropout", "it is for training"),
};
constexpr KeyTable kDropoutKeys = ClosedTable(kDropoutRows, kNoSuchKey);

constexpr std::array kLogitScoreRows = {
    Followed("true_token_id false_token_id activation_fn"),
    NoEffect("module_input_name", "the logits are read")
        .Only("[null, \"causal_logits\"]", "supported is \"causal_logits\""),
};
constexpr KeyTable kLogitScoreKeys = ClosedTable(kLogitScoreRows, kNoSuchKey);

struct ModuleKeys {
  std::string_view type;
  const KeyTable* keys;
};

constexpr std::array kModuleKeys = {
    ModuleKeys{"Pooling", &kPoolingKeys},       ModuleKeys{"Dense", &kDenseKeys},
    ModuleKeys{"LayerNorm", &kLayerNormKeys},   ModuleKeys{"Normalize", &kNormalizeKeys},
    ModuleKeys{"LogitScore", &kLogitScoreKeys}, ModuleKeys{"Dropout", &kDropoutKeys},
};

}  // namespace

constinit const KeyTable kSentenceConfigKeys = ClosedTable(kSentenceConfigRows, kNoSuchKey);
constinit const KeyTable kSentenceConfigAloneKeys{
    kSentenceConfigAloneRows,
    NoEffect("*", "there is no modules.json, without which it is not read")};
constinit const KeyTable kSentenceOptionsKeys = OpenTable(kSentenceOptionsRows);
constinit const KeyTable kModuleListKeys = ClosedTable(kModuleListRows, kNoSuchKey);
constinit const KeyTable kAdapterConfigKeys{{}, NoEffect("*", kFullWeights)};

const KeyTable* FindModuleKeys(std::string_view type) {
  const auto* const found = std::ranges::find(kModuleKeys, type, &ModuleKeys::type);
  return found == kModuleKeys.end() ? nullptr : found->keys;
}

}  // namespace scorecast::proto
