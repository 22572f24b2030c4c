#include "proto/model/config_obstacles.h"

#include <algorithm>
#include <array>
#include <span>

#include <nlohmann/json.hpp>

#include "proto/base/one_line.h"

namespace scorecast::proto {
namespace {

/// An option that changes the scores of some models. Only one of its values is supported, which is
/// also the default if the field is absent.
struct Obstacle {
  std::string_view name;
  std::string_view accepted;  ///< A JSON list of the values that mean this setting.
  /// What any other value asks for. The message names it, and then lists the supported
  /// architectures. If this is empty, the message lists the accepted values instead.
  std::string_view what;
};

constexpr std::string_view kExperts = "mixture-of-experts models are not supported";
constexpr std::string_view kMultimodal = "multimodal models are not supported";
constexpr std::string_view kBidirectional = "bidirectional attention is not supported";
constexpr std::string_view kAlibi = "ALiBi is not supported";
constexpr std::string_view kEncoder = "models with an encoder and a decoder are not supported";
constexpr std::string_view kT5 = "T5's biases by relative position are not supported";
constexpr std::string_view kDeberta = "DeBERTa's attention to relative positions is not supported";

constexpr std::array kObstacles = {
    Obstacle{"text_config", "[null]", kMultimodal},
    Obstacle{"vision_config", "[null]", kMultimodal},
    Obstacle{"audio_config", "[null]", kMultimodal},
    Obstacle{"num_experts", "[null, 0]", kExperts},
    Obstacle{"num_local_experts", "[null, 0]", kExperts},
    Obstacle{"n_routed_experts", "[null, 0]", kExperts},
    Obstacle{"enable_moe_block", "[null, false]", kExperts},
    Obstacle{"alibi", "[null, false]", kAlibi},
    Obstacle{"is_causal", "[null, true]", kBidirectional},
    Obstacle{"is_encoder_decoder", "[null, false]", kEncoder},
    Obstacle{"add_cross_attention", "[null, false]", kEncoder},
    Obstacle{"partial_rotary_factor", "[null, 1]", ""},
    Obstacle{"pruned_heads", "[null, {}]", ""},
    Obstacle{"attention_multiplier", "[null]", ""},
    Obstacle{"embedding_multiplier", "[null, 1]", ""},
    Obstacle{"residual_multiplier", "[null, 1]", ""},
    Obstacle{"logits_scaling", "[null, 1]", ""},
    Obstacle{"logit_scale", "[null, 1]", ""},
    Obstacle{"clip_qkv", "[null]", ""},
    Obstacle{"attention_chunk_size", "[null]", ""},
    Obstacle{"no_rope_layers", "[null, []]", ""},
};

/// The option of a family in `bidirectional_field`.
constexpr std::array kDirections = {
    Obstacle{"use_bidirectional_attention", "[null, false]", kBidirectional},
};

/// Options that change what an encoder computes.
constexpr std::array kEncoderObstacles = {
    Obstacle{"is_decoder", "[null, false]",
             "an encoder that attends like a decoder is not supported"},
    Obstacle{"position_embedding_type", "[null, \"absolute\"]", ""},
};

/// Parts of architectures' names that say what kind of model it is.
struct Kind {
  std::string_view part;
  std::string_view what;
};

constexpr std::array kKinds = {
    Kind{"Moe", kExperts},
    Kind{"MoE", kExperts},
    Kind{"Mixtral", kExperts},
    Kind{"VL", kMultimodal},
    Kind{"Llava", kMultimodal},
    Kind{"ForConditionalGeneration", kMultimodal},
    Kind{"Bloom", kAlibi},
    Kind{"MPT", kAlibi},
    Kind{"Mpt", kAlibi},
    Kind{"Bidirectional", kBidirectional},
    Kind{"T5", kT5},
    Kind{"Deberta", kDeberta},
};

void Refuse(const Fields& fields, std::span<const Obstacle> obstacles) {
  for (const Obstacle& obstacle : obstacles) {
    const Json* value = fields.Find(obstacle.name);
    if (value == nullptr) {
      continue;
    }
    const Json accepted = Json::parse(obstacle.accepted);
    if (std::ranges::find(accepted, *value) == accepted.end()) {
      fields.Refuse(obstacle.name, *value,
                    obstacle.what.empty()
                        ? "not supported (supported: " + accepted.dump() + ", or no such field)"
                        : std::string(obstacle.what) + " (" + SupportedArchitectures() + ")");
    }
  }
}

/// Names the class that `auto_map` has for a model, or for anything if it has none for a model.
std::string WhyCustomCode(const Json& auto_map) {
  std::string name;
  if (auto_map.is_object()) {
    for (const auto& [key, value] : auto_map.items()) {
      if (value.is_string() && (name.empty() || key.starts_with("AutoModel"))) {
        name = value.get<std::string>();
      }
    }
  }
  return "code that comes with the model is not run: auto_map asks for " + Quoted(name, 80);
}

void RefuseQuantisation(const Fields& fields) {
  // compression_config is the older name of compressed-tensors' field.
  for (const std::string_view name : {"quantization_config", "compression_config"}) {
    const Json* value = fields.FindNonNull(name);
    if (value == nullptr) {
      continue;
    }
    std::string method = name == "compression_config" ? "\"compressed-tensors\"" : "unknown";
    if (const auto found = value->find("quant_method");
        found != value->end() && found->is_string()) {
      method = Quoted(found->get_ref<const std::string&>(), 80);
    }
    fields.Refuse(name, *value,
                  "quantised checkpoints (quant_method " + method +
                      ") are not supported (supported are weights in float32, float16 and "
                      "bfloat16)");
  }
}

}  // namespace

std::string SupportedArchitectures() {
  std::string decoders;
  std::string encoders;
  for (const Family& family : kFamilies) {
    if (family.language_model.empty()) {
      encoders += ", " + std::string(family.model_type);
    } else {
      decoders += (decoders.empty() ? "" : ", ") + std::string(family.language_model);
    }
  }
  return "supported are " + decoders + ", and these as …ForSequenceClassification; encoders" +
         encoders.substr(1);
}

void RefuseObstacles(const Fields& fields) {
  Refuse(fields, kObstacles);
  RefuseQuantisation(fields);
}

void RefuseObstaclesOf(const Family& family, const Fields& fields) {
  if (!family.bidirectional_field) {
    Refuse(fields, kDirections);
  }
  if (!family.language_model.empty()) {
    return;
  }
  Refuse(fields, kEncoderObstacles);
  const Json* auto_map = fields.FindNonNull("auto_map");
  if (auto_map != nullptr && !family.has_code) {
    fields.Refuse("auto_map", *auto_map, WhyCustomCode(*auto_map));
  }
}

std::string WhyUnsupported(const Fields& fields, const Json& architecture) {
  if (const Json* auto_map = fields.FindNonNull("auto_map")) {
    return WhyCustomCode(*auto_map) + " (" + SupportedArchitectures() + ")";
  }
  if (architecture.is_string()) {
    const auto& name = architecture.get_ref<const std::string&>();
    for (const Kind& kind : kKinds) {
      if (name.find(kind.part) != std::string::npos) {
        return std::string(kind.what) + " (" + SupportedArchitectures() + ")";
      }
    }
  }
  return SupportedArchitectures();
}

}  // namespace scorecast::proto
