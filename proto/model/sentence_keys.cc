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

// processing_kwargs: how a tokenizer is called, or a chat template.

constexpr std::string_view kTruncations =
    R"([null, true, false, "longest_first", "only_first", "only_second", "do_not_truncate"])";
constexpr std::string_view kPaddings = R"([true, false, "longest", "max_length", "do_not_pad"])";
constexpr std::string_view kTensors = R"([null, "pt"])";

constexpr std::array kCallRows = {
    Followed("max_length").As(ValueKind::kNumber),
    Followed("add_special_tokens").As(ValueKind::kBool),
    Followed("truncation").Only(kTruncations),
    Followed("padding").Only(kPaddings),
    Followed("padding_side").Only(R"([null, "left", "right"])"),
    Refused("return_tensors", kTensors, "the model takes tensors"),
    Refused("return_attention_mask", "[null, true]", "the model takes a mask"),
    Refused("return_token_type_ids", "[null]", "tokenizer_config.json says it"),
    Refused("is_split_into_words return_overflowing_tokens split_special_tokens", "[null, false]"),
    NoEffect("pad_to_multiple_of", "no text is padded"),
    NoEffect("return_length return_offsets_mapping return_special_tokens_mask verbose",
             "it says what else the tokenizer returns"),
    NoEffect("stride", "what is cut off is not computed"),
    // 0 keeps all rows of logits, of which the last one is read.
    NoEffect("logits_to_keep", "the last row is read"),
};
constexpr KeyTable kCallKeys =
    ClosedTable(kCallRows,
                "not supported (supported are max_length, truncation, add_special_tokens and "
                "padding)");

constexpr std::array kChatArgumentRows = {
    Followed("max_length").As(ValueKind::kNumber),
    Followed("truncation").Only(kTruncations),
    Followed("padding").Only(kPaddings),
    Followed("add_generation_prompt continue_final_message restore_suffix").As(ValueKind::kBool),
    Refused("return_tensors", kTensors, "the model takes tensors"),
    Refused("chat_template common_kwargs conversation documents tokenizer_kwargs tokenize tools "
            "return_dict",
            "[null]", "not supported"),
    Refused("return_assistant_tokens_mask sanitize_control_tokens", "[null, false]"),
};

constexpr std::array kProcessingRows = {
    Followed("text common").With(kCallKeys),
    Followed("chat_template").With(kChatArgumentKeys),
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
    NoEffect("token revision code_revision cache_dir local_files_only subfolder "
             "trust_remote_code force_download proxies name_or_path",
             kHub),
};
constexpr KeyTable kHubKeys = OpenTable(kHubRows);

constexpr std::array kModelArgumentRows = {
    NoEffect("attn_implementation experts_implementation use_kernels", "scorecast has its own"),
    NoEffect("dtype torch_dtype", "--dtype says it"),
    NoEffect("device_map max_memory offload_folder offload_state_dict low_cpu_mem_usage tp_plan "
             "use_safetensors weights_only",
             "it says how weights are read"),
    NoEffect("add_pooling_layer", "the pooler's output is not read"),
};
constexpr KeyTable kModelArgumentKeys = ClosedTable(kModelArgumentRows, "not supported", &kHubKeys);

// They count more than the file's own keys.
constexpr std::array kTokenizerArgumentRows = {
    Followed("chat_template"),
    Followed("model_max_length").As(ValueKind::kNumber),
    Followed("model_input_names").As(ValueKind::kStrings),
    Followed("truncation_side").Only(R"([null, "left", "right"])"),
    Followed("add_prefix_space do_lower_case split_special_tokens strip_accents "
             "tokenize_chinese_chars")
        .As(ValueKind::kBool),
    NoEffect("padding_side", "no text is padded"),
    NoEffect("clean_up_tokenization_spaces", "texts become tokens, not tokens texts"),
    NoEffect("use_fast", "there is one kind of tokenizer"),
};
constexpr KeyTable kTokenizerArgumentKeys = ClosedTable(
    kTokenizerArgumentRows, "not supported: write it to tokenizer_config.json", &kHubKeys);

// transformers sets arguments after it has derived other fields, so a field from which others are
// derived is not followed.
constexpr std::array kConfigArgumentRows = {
    Followed("attn_logit_softcapping bos_token_id classifier_pooling eos_token_id "
             "final_logit_softcapping hidden_act hidden_activation is_causal layer_norm_eps "
             "max_position_embeddings norm_eps num_hidden_layers num_labels pad_token_id "
             "problem_type rms_norm_eps use_bidirectional_attention"),
    NoEffect("attention_dropout attention_probs_dropout_prob classifier_dropout "
             "hidden_dropout_prob",
             "it is for training"),
    NoEffect("output_attentions output_hidden_states return_dict use_cache",
             "it says what else the model returns"),
    NoEffect("attn_implementation experts_implementation", "scorecast has its own"),
    NoEffect("dtype torch_dtype", "--dtype says it"),
};
constexpr KeyTable kConfigArgumentKeys =
    ClosedTable(kConfigArgumentRows, "not supported: write it to config.json", &kHubKeys);

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

constinit const KeyTable kChatArgumentKeys{kChatArgumentRows, Followed("*")};
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
