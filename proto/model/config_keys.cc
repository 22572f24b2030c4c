// The keys of config.json.

#include <array>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/base/one_line.h"
#include "proto/model/config_obstacles.h"
#include "proto/model/key_tables.h"

namespace scorecast::proto {
namespace {

bool IsDecoder(const Family& family) { return family.tensor_naming == TensorNaming::kDecoder; }
bool IsEncoder(const Family& family) { return !IsDecoder(family); }
bool IsCausal(const Family& family) { return !family.bidirectional; }
bool IsBidirectional(const Family& family) { return family.bidirectional; }
bool IsDistilBert(const Family& family) { return family.model_type == "distilbert"; }
bool IsNotDistilBert(const Family& family) { return !IsDistilBert(family); }
bool IsElectra(const Family& family) { return family.model_type == "electra"; }
bool IsModernBert(const Family& family) { return family.model_type == "modernbert"; }
bool MayHaveOtherPositions(const Family& family) {
  return IsEncoder(family) && !IsModernBert(family);
}
bool IsGemma3(const Family& family) { return family.model_type == "gemma3_text"; }
bool HasIntermediateSize(const Family& family) {
  return family.names.intermediate_size == "intermediate_size";
}
bool HasRope(const Family& family) { return family.positions == Positions::kRotary; }
bool HasRopeTheta(const Family& family) {
  return HasRope(family) && family.names.rope_theta == "rope_theta";
}
bool CountsFromPadding(const Family& family) {
  return family.positions == Positions::kLearnedBehindPadding;
}
bool HasTypes(const Family& family) { return family.type_vocab_size.has_value(); }
bool HasWindow(const Family& family) {
  return family.window.layers != WindowLayers::kNone && family.window.field == "sliding_window";
}
bool HasNoWindow(const Family& family) { return family.window.layers == WindowLayers::kNone; }
bool HasSwitchedWindow(const Family& family) {
  return family.window.layers == WindowLayers::kSwitched;
}
bool HasDirectionField(const Family& family) { return family.bidirectional_field; }
bool HasNoDirectionField(const Family& family) { return !family.bidirectional_field; }
bool HasQueryScale(const Family& family) { return family.query_pre_attn_scalar.has_value(); }
bool HasNoQueryScale(const Family& family) { return !HasQueryScale(family); }
bool HasSoftcapping(const Family& family) { return family.softcapping.has_value(); }
bool CapsAttention(const Family& family) {
  return family.softcapping && family.softcapping->caps_attention;
}
bool CapsOnlyLogits(const Family& family) {
  return family.softcapping && !family.softcapping->caps_attention;
}
bool HasNoSoftcapping(const Family& family) { return !HasSoftcapping(family); }
bool HasAttentionBiasField(const Family& family) {
  return family.attention_bias == AttentionBias::kAsConfigured;
}
bool HasNoAttentionBias(const Family& family) {
  return family.attention_bias == AttentionBias::kNone;
}
bool HasMlpBiasField(const Family& family) { return family.has_mlp_bias; }
bool HasNoMlpBias(const Family& family) { return !family.has_mlp_bias && !family.mlp_bias; }
bool HasRmsNorms(const Family& family) { return family.names.norm_eps == "rms_norm_eps"; }
bool HasLayerNormEps(const Family& family) { return family.names.norm_eps == "layer_norm_eps"; }
bool HasPoolingFields(const Family& family) { return family.head.is_score; }
bool HasCodeNotNeeded(const Family& family) { return family.has_code; }
/// Their code could compute something else, so it would have to be run.
bool NeedsItsCode(const Family& family) {
  return family.language_model.empty() && !family.has_code;
}

std::string WhyQuantised(std::string_view key, const Json& value) {
  // compression_config is the older name of compressed-tensors' field.
  std::string method = key == "compression_config" ? "\"compressed-tensors\"" : "unknown";
  const auto found = value.find("quant_method");
  if (found != value.end() && found->is_string()) {
    method = Quoted(found->get_ref<const std::string&>(), 80);
  }
  return "quantised checkpoints (quant_method " + method +
         ") are not supported (supported are weights in float32, float16 and bfloat16)";
}

std::string WhyOwnCode(std::string_view /*key*/, const Json& value) { return WhyCustomCode(value); }

constexpr std::string_view kTraining = "it is for training";
constexpr std::string_view kNewWeights = "it is for weights that are drawn anew";
constexpr std::string_view kOutputs = "it asks for outputs that no endpoint has";
constexpr std::string_view kOwnKernels = "scorecast has kernels of its own";
constexpr std::string_view kUnreadHead = "it belongs to a head that is not read";
constexpr std::string_view kInGenerationConfig =
    "defaults of completions are in generation_config.json";
constexpr std::string_view kNoneInFamily = "models of this type have none";

constexpr std::array kRopeRows = {
    Followed("rope_type type rope_theta factor original_max_position_embeddings attention_factor "
             "mscale mscale_all_dim beta_fast beta_slow truncate low_freq_factor high_freq_factor"),
    NoEffect("finetuned", "it says how the model was trained"),
    Refused("partial_rotary_factor", "[null, 1]", "partial rotary embeddings are not supported"),
};
constexpr std::string_view kOtherRope = "RoPE with this parameter is not supported";
constexpr KeyTable kRopeKeys{kRopeRows, Refused("*", "[null]", kOtherRope)};

constexpr std::array kRopeOfLayersRows = {
    Followed("full_attention sliding_attention").With(kRopeKeys),
};
constexpr KeyTable kRopeParametersKeys{kRopeOfLayersRows, Refused("*", "[null]", kOtherRope),
                                       &kRopeKeys};

constexpr std::array kCrossEncoderRows = {
    Followed("activation_fn"),
    NoEffect("version", "it says what wrote the file"),
};
constexpr KeyTable kCrossEncoderKeys = OpenTable(kCrossEncoderRows);

constexpr std::array kConfigRows = {
    // Kinds of models that no family is of.
    Refused("text_config vision_config audio_config", "[null]", kMultimodalModels)
        .WithArchitectures(),
    Refused("num_experts num_local_experts n_routed_experts", "[null, 0]", kExpertModels)
        .WithArchitectures(),
    Refused("enable_moe_block", "[null, false]", kExpertModels).WithArchitectures(),
    Refused("alibi", "[null, false]", kAlibiModels).WithArchitectures(),
    Refused("is_encoder_decoder add_cross_attention", "[null, false]",
            "models with an encoder and a decoder are not supported")
        .WithArchitectures(),
    Refused("quantization_config compression_config", "[null]").ExplainedBy(WhyQuantised),

    // Options that no family has.
    Refused("partial_rotary_factor", "[null, 1]"),
    Refused("pruned_heads per_layer_config", "[null, {}]"),
    Refused("attention_multiplier clip_qkv attention_chunk_size kv_sharing_modes", "[null]"),
    Refused("embedding_multiplier residual_multiplier logits_scaling logit_scale", "[null, 1]"),
    Refused("no_rope_layers", "[null, []]"),
    Refused("configuration_files", "[null, []]", "config.json is the file that is read"),
    Refused("transformers_weights", "[null]", "files of weights are found by their usual names"),

    // What the model is.
    Followed("architectures model_type dtype torch_dtype"),
    // DistilBERT's files may have the usual names of dim, n_layers and n_heads, too.
    Followed("hidden_size num_hidden_layers num_attention_heads head_dim num_key_value_heads "
             "vocab_size max_position_embeddings tie_word_embeddings hidden_act"),
    Followed("hidden_activation").Of(IsNotDistilBert),
    Followed("intermediate_size").Of(HasIntermediateSize),
    Followed("dim n_layers n_heads hidden_dim activation").Of(IsDistilBert),
    Followed("embedding_size").Of(IsElectra),
    Followed("type_vocab_size").Of(HasTypes),
    Followed("rms_norm_eps").Of(HasRmsNorms),
    Followed("layer_norm_eps").Of(HasLayerNormEps),
    Followed("norm_eps norm_bias").Of(IsModernBert),
    Followed("attention_bias").Of(HasAttentionBiasField),
    Refused("attention_bias", "[null, false]", "this architecture has no such biases")
        .Of(HasNoAttentionBias),
    Followed("mlp_bias").Of(HasMlpBiasField),
    Refused("mlp_bias", "[null, false]", "this architecture has no such biases").Of(HasNoMlpBias),
    Followed("query_pre_attn_scalar").Of(HasQueryScale),
    Refused("query_pre_attn_scalar", "[null]", kNoneInFamily).Of(HasNoQueryScale),
    Followed("final_logit_softcapping").Of(HasSoftcapping),
    Followed("attn_logit_softcapping").Of(CapsAttention),
    NoEffect("attn_logit_softcapping", "transformers does not compute with it").Of(CapsOnlyLogits),
    Refused("attn_logit_softcapping final_logit_softcapping", "[null]", kNoneInFamily)
        .Of(HasNoSoftcapping),

    // Positions, windows and directions.
    Followed("rope_theta").Of(HasRopeTheta),
    Followed("original_max_position_embeddings").Of(HasRope),
    Followed("rope_scaling").With(kRopeKeys).Of(HasRope),
    Followed("rope_parameters").With(kRopeParametersKeys).Of(HasRope),
    Followed("rope_local_base_freq sliding_window_pattern _sliding_window_pattern").Of(IsGemma3),
    Followed("global_rope_theta local_rope_theta local_attention global_attn_every_n_layers")
        .Of(IsModernBert),
    Followed("layer_types"),
    Followed("sliding_window").Of(HasWindow),
    // transformers would make twice the number local_attention.
    Refused("sliding_window", "[]", "in models of this type the window is local_attention")
        .Of(IsModernBert),
    Refused("sliding_window use_sliding_window", "[null, false]",
            "this family has no sliding windows")
        .Of(HasNoWindow),
    Followed("use_sliding_window max_window_layers").Of(HasSwitchedWindow),
    Followed("use_bidirectional_attention").Of(HasDirectionField),
    Refused("use_bidirectional_attention", "[null, false]", kBidirectionalModels)
        .WithArchitectures()
        .Of(HasNoDirectionField),
    // Without a value, transformers lets a decoder attend to both sides.
    Refused("is_causal", "[true]", kBidirectionalModels).WithArchitectures().Of(IsCausal),
    Refused("is_causal", "[null, false]", "a model of this type attends to both sides")
        .Of(IsBidirectional),
    Refused("is_decoder", "[null, false]",
            "an encoder that attends like a decoder is not supported")
        .WithArchitectures()
        .Of(IsEncoder),
    Unread("position_embedding_type").Of(IsModernBert),
    Unread("position_embedding_type").Only("[null, \"absolute\"]").Of(MayHaveOtherPositions),

    // Token ids.
    Followed("bos_token_id eos_token_id"),
    Followed("pad_token_id").Of(CountsFromPadding),
    NoEffect("pad_token_id", "no text is padded"),
    NoEffect("cls_token_id sep_token_id decoder_start_token_id",
             "the tokenizer says what is around a text"),

    // Heads.
    Followed("id2label num_labels"),
    NoEffect("label2id", "id2label has the names of the classes"),
    Followed("problem_type"),
    Followed("classifier_pooling classifier_activation classifier_bias").Of(IsModernBert),
    Followed("pooling temperature").Of(HasPoolingFields),
    Followed("sentence_transformers").With(kCrossEncoderKeys),
    Followed("sbert_ce_default_activation_function"),
    NoEffect("function_to_apply return_all_scores",
             "requests say what is made of the logits of classes"),
    NoEffect("decoder_bias", kUnreadHead).Of(IsModernBert),
    NoEffect("summary_type summary_use_proj summary_activation summary_proj_to_labels", kUnreadHead)
        .Of(IsElectra),

    // The tokenizer's class, if tokenizer_config.json names none.
    Followed("tokenizer_class"),

    // What changes no response.
    NoEffect("attention_dropout hidden_dropout hidden_dropout_prob attention_probs_dropout_prob "
             "classifier_dropout dropout qa_dropout seq_classif_dropout embedding_dropout "
             "mlp_dropout summary_first_dropout summary_last_dropout sparse_prediction "
             "sparse_pred_ignore_index",
             kTraining),
    NoEffect("pretraining_tp", "it says how products were split in training"),
    NoEffect("initializer_range initializer_factor initializer_cutoff_factor init_std "
             "sinusoidal_pos_embds",
             kNewWeights),
    NoEffect("output_attentions output_hidden_states return_dict tie_last_hidden_states", kOutputs),
    NoEffect("chunk_size_feed_forward use_cache", "it changes memory, not results"),
    NoEffect("attn_implementation _attn_implementation _attn_implementation_internal "
             "experts_implementation deterministic_flash_attn fusion_config",
             kOwnKernels),
    NoEffect("transformers_version name_or_path _name_or_path _commit_hash model_name",
             "it says where the model comes from"),
    Refused("auto_map", "[null]").ExplainedBy(WhyOwnCode).Of(NeedsItsCode),
    NoEffect("auto_map", "its code is not needed").Of(HasCodeNotNeeded),
    NoEffect("max_length min_length do_sample early_stopping num_beams temperature top_k top_p "
             "typical_p repetition_penalty length_penalty no_repeat_ngram_size "
             "encoder_no_repeat_ngram_size bad_words_ids num_return_sequences output_scores "
             "return_dict_in_generate forced_bos_token_id forced_eos_token_id "
             "remove_invalid_values exponential_decay_length_penalty suppress_tokens "
             "begin_suppress_tokens epsilon_cutoff eta_cutoff encoder_repetition_penalty "
             "num_assistant_tokens num_assistant_tokens_schedule assistant_confidence_threshold "
             "assistant_lookbehind target_lookbehind num_beam_groups diversity_penalty "
             "max_new_tokens min_new_tokens max_time stop_strings min_p top_h renormalize_logits "
             "sequence_bias token_healing guidance_scale watermarking_config penalty_alpha "
             "dola_layers constraints force_words_ids",
             kInGenerationConfig),
};

}  // namespace

constinit const KeyTable kConfigKeys = OpenTable(kConfigRows);

}  // namespace scorecast::proto
