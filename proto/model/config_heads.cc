#include "proto/model/config_heads.h"

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace scorecast::proto {
namespace {

constexpr Bounds kHeads{1, 1 << 13};
constexpr Bounds kHeadDim{2, 1 << 12};
/// The default of transformers. Its older versions did not write the two labels of a default.
constexpr std::int64_t kDefaultLabels = 2;

}  // namespace

void ReadAttentionHeads(const Fields& fields, const Family& family, ModelConfig& config) {
  config.num_attention_heads = fields.Integer(family.names.num_attention_heads, kHeads);

  const bool kv_is_null = fields.Find("num_key_value_heads") != nullptr &&
                          fields.FindNonNull("num_key_value_heads") == nullptr;
  config.num_key_value_heads =
      kv_is_null ? config.num_attention_heads
                 : fields.OptionalInteger("num_key_value_heads", kHeads)
                       .value_or(family.num_key_value_heads.value_or(config.num_attention_heads));
  if (config.num_attention_heads % config.num_key_value_heads != 0) {
    fields.Fail("num_attention_heads is " + std::to_string(config.num_attention_heads) +
                ": it must be a multiple of num_key_value_heads, which is " +
                std::to_string(config.num_key_value_heads));
  }

  if (!family.head_dim && fields.FindNonNull("head_dim") == nullptr) {
    if (config.hidden_size % config.num_attention_heads != 0) {
      fields.Fail("hidden_size is " + std::to_string(config.hidden_size) +
                  ": without head_dim it must be a multiple of num_attention_heads, which is " +
                  std::to_string(config.num_attention_heads));
    }
    const Json derived = config.hidden_size / config.num_attention_heads;
    config.head_dim =
        fields.IntegerOf("head_dim (hidden_size / num_attention_heads)", derived, kHeadDim);
  } else {
    config.head_dim =
        fields.OptionalInteger("head_dim", kHeadDim).value_or(family.head_dim.value_or(0));
  }
  if (config.head_dim % 2 != 0) {
    fields.Fail("head_dim is " + std::to_string(config.head_dim) +
                ": it must be even, because heads are computed in pairs of numbers");
  }
}

std::int64_t ReadNumLabels(const Fields& fields) {
  const Json* labels = fields.FindNonNull("id2label");
  if (labels == nullptr) {
    const Json* count = fields.FindNonNull("num_labels");
    return count == nullptr ? kDefaultLabels : fields.IntegerOf("num_labels", *count, kLabels);
  }
  if (!labels->is_object()) {
    fields.Refuse("id2label", *labels, "it must be an object or null");
  }
  return fields.IntegerOf("the number of labels in id2label",
                          static_cast<std::int64_t>(labels->size()), kLabels);
}

std::optional<ProblemType> ReadProblemType(const Fields& fields, std::int64_t num_labels) {
  constexpr std::string_view kName = "problem_type";
  const Json* type = fields.FindNonNull(kName);
  if (type == nullptr) {
    return std::nullopt;
  }
  const std::string& text = fields.StringOf(kName, *type);
  if (text == "regression") {
    return ProblemType::kRegression;
  }
  if (text == "multi_label_classification") {
    return ProblemType::kMultiLabel;
  }
  if (text != "single_label_classification") {
    fields.Refuse(kName, *type,
                  "it must be regression, single_label_classification, "
                  "multi_label_classification or null");
  }
  if (num_labels == 1) {
    fields.Refuse(
        kName, *type,
        "as in transformers, it needs several classes; a single one is shown as its logit "
        "by regression, or as the logit's sigmoid by null");
  }
  return ProblemType::kSingleLabel;
}

}  // namespace scorecast::proto
