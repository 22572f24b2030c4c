#include "proto/model/config_encoders.h"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/model/config_rope.h"

namespace scorecast::proto {
namespace {

constexpr Bounds kTypes{1, 256};  // A token's type is a byte.

/// Learned positions. Those up to the padding's cannot be a token's.
void ReadLearnedPositions(const Fields& fields, const Family& family, ModelConfig& config) {
  LearnedPositions positions{.rows = config.max_position_embeddings};
  if (family.positions == Positions::kLearnedBehindPadding) {
    const Json* id = fields.FindNonNull("pad_token_id");
    positions.padding = id == nullptr ? family.pad_token_id
                                      : static_cast<TokenId>(fields.IntegerOf(
                                            "pad_token_id", *id, {0, config.vocab_size - 1}));
    config.max_position_embeddings -= *positions.padding + 1;
    if (config.max_position_embeddings < 1) {
      fields.Fail("max_position_embeddings is " + std::to_string(positions.rows) +
                  ": no position is left behind pad_token_id, which is " +
                  std::to_string(*positions.padding));
    }
  }
  config.learned_positions = positions;
  config.rope_tables.clear();
}

/// nullopt if embeddings have the size of the rows. Rows have room for smaller embeddings only.
std::optional<std::int64_t> ReadEmbeddingSize(const Fields& fields, std::int64_t absent,
                                              std::int64_t hidden_size) {
  constexpr std::string_view kField = "embedding_size";
  const Json* value = fields.Find(kField);
  const std::int64_t size =
      fields.IntegerOf(kField, value == nullptr ? Json(absent) : *value, {1, hidden_size});
  return size == hidden_size ? std::nullopt : std::optional(size);
}

Pooling ReadClassifierPooling(const Fields& fields) {
  const Json* value = fields.FindNonNull("classifier_pooling");
  if (value == nullptr || *value == "cls") {
    return Pooling::kCls;
  }
  if (*value != "mean") {
    fields.Refuse("classifier_pooling", *value, "supported are cls and mean");
  }
  return Pooling::kMean;
}

/// The pooling of a bidirectional decoder with a head of its own.
Pooling ReadDecoderPooling(const Fields& fields) {
  const Json* value = fields.FindNonNull("pooling");
  if (value == nullptr || *value == "avg") {
    return Pooling::kMean;
  }
  if (*value == "cls") {
    return Pooling::kCls;
  }
  if (*value != "last") {
    fields.Refuse("pooling", *value, "supported are avg, cls and last");
  }
  return Pooling::kLast;
}

/// The head of a decoder: the product of a pooled row with the classes.
ReadHead ScoreHead(Pooling pooling, const ModelConfig& config) {
  return {.pooling = {pooling},
          .steps = {{.weight = "score.weight", .out_features = config.num_labels}},
          .output_size = config.num_labels};
}

HeadActivation ReadClassifierActivation(const Fields& fields, HeadActivation absent) {
  struct Name {
    std::string_view name;
    HeadActivation activation;
  };
  constexpr std::array kNames = {
      Name{"gelu", HeadActivation::kGelu},
      Name{"gelu_new", HeadActivation::kGeluTanh},
      Name{"gelu_pytorch_tanh", HeadActivation::kGeluTanh},
      Name{"silu", HeadActivation::kSilu},
      Name{"swish", HeadActivation::kSilu},
      Name{"relu", HeadActivation::kRelu},
      Name{"tanh", HeadActivation::kTanh},
      Name{"sigmoid", HeadActivation::kSigmoid},
      Name{"linear", HeadActivation::kIdentity},
  };
  const Json* value = fields.Find("classifier_activation");
  if (value == nullptr) {
    return absent;
  }
  std::string list;
  for (const Name& known : kNames) {
    if (*value == known.name) {
      return known.activation;
    }
    list += (list.empty() ? "" : ", ") + std::string(known.name);
  }
  fields.Refuse("classifier_activation", *value, "not supported (supported are " + list + ")");
}

}  // namespace

void ReadPositions(const Fields& fields, const Family& family, ModelConfig& config) {
  if (family.positions == Positions::kRotary) {
    ReadRope(fields, family, config);
  } else {
    ReadLearnedPositions(fields, family, config);
  }
  if (family.type_vocab_size) {
    config.type_vocab_size =
        fields.OptionalInteger("type_vocab_size", kTypes).value_or(*family.type_vocab_size);
  }
}

bool ReadBidirectional(const Fields& fields, const Family& family) {
  constexpr std::string_view kField = "use_bidirectional_attention";
  return family.bidirectional ||
         (family.bidirectional_field && fields.FindNonNull(kField) != nullptr &&
          fields.Bool(kField, false));
}

void ReadNorms(const Fields& fields, const Family& family, ModelConfig& config) {
  config.norm = family.norm;
  config.norm_eps = family.names.norm_eps.empty()
                        ? family.norm_eps
                        : fields.PositiveNumber(family.names.norm_eps, family.norm_eps);
  config.norm_bias =
      family.norm_bias_field ? fields.Bool("norm_bias", family.norm_bias) : family.norm_bias;
  config.norm_weights_plus_one = family.norm_weights_plus_one;
  config.embedding_norm = family.embedding_norm;
  if (family.embedding_size) {
    config.embedding_size = ReadEmbeddingSize(fields, *family.embedding_size, config.hidden_size);
  }
  const bool are_of_residual = family.norm_places == NormPlaces::kResidual;
  config.final_norm = !are_of_residual;
  for (std::size_t i = 0; i < config.layers.size(); ++i) {
    LayerConfig& layer = config.layers[i];
    layer.residual_norms = are_of_residual;
    layer.pre_feedforward_norm = !are_of_residual;
    layer.input_norm =
        !are_of_residual && (i > 0 || family.norm_places != NormPlaces::kBeforeLayersButFirst);
  }
}

ReadHead ReadClassifierHead(const Fields& fields, const Family& family, const ModelConfig& config) {
  const EncoderHead& head = family.head;
  if (head.is_score) {
    ReadHead score = ScoreHead(ReadDecoderPooling(fields), config);
    score.temperature = fields.OptionalPositiveNumber("temperature").value_or(1);
    return score;
  }
  if (head.out.empty()) {
    return ScoreHead(Pooling::kLast, config);
  }
  HeadStep dense{.weight = std::string(head.dense) + ".weight",
                 .activation = head.activation,
                 .out_features = config.hidden_size,
                 .norm_eps = config.norm_eps};
  Pooling pooling = Pooling::kCls;
  bool has_bias = true;
  if (head.has_fields) {
    pooling = ReadClassifierPooling(fields);
    dense.activation = ReadClassifierActivation(fields, head.activation);
    has_bias = fields.Bool("classifier_bias", false);
  }
  if (has_bias) {
    dense.bias = std::string(head.dense) + ".bias";
  }
  if (!head.norm.empty()) {
    dense.norm = std::string(head.norm) + ".weight";
    if (config.norm_bias) {
      dense.norm_bias = std::string(head.norm) + ".bias";
    }
  }
  const HeadStep out{.weight = std::string(head.out) + ".weight",
                     .bias = std::string(head.out) + ".bias",
                     .out_features = config.num_labels};
  return {.pooling = {pooling}, .steps = {dense, out}, .output_size = config.num_labels};
}

ReadHead ReadEmbedderHead(const Fields& fields, const Family& family, const ModelConfig& config) {
  const Pooling pooling = family.head.is_score ? ReadDecoderPooling(fields) : Pooling::kMean;
  return {.pooling = {pooling}, .output_size = config.hidden_size};
}

}  // namespace scorecast::proto
