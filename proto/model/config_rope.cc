#include "proto/model/config_rope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

namespace scorecast::proto {
namespace {

/// A type of RoPE, and the fields that it has besides rope_theta.
struct RopeTypeRow {
  RopeType type;
  std::string_view name;
  std::span<const std::string_view> fields;
};

constexpr std::array<std::string_view, 1> kLinearFields = {"factor"};
constexpr std::array<std::string_view, 4> kLlama3Fields = {
    "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"};
constexpr std::array<std::string_view, 9> kYarnFields = {
    "factor",           "original_max_position_embeddings",
    "attention_factor", "mscale",
    "mscale_all_dim",   "beta_fast",
    "beta_slow",        "truncate",
    "finetuned",  // It says how the model was trained; no implementation computes with it.
};

constexpr std::array kRopeTypes = {
    RopeTypeRow{RopeType::kDefault, "default", {}},
    RopeTypeRow{RopeType::kLinear, "linear", kLinearFields},
    RopeTypeRow{RopeType::kLlama3, "llama3", kLlama3Fields},
    RopeTypeRow{RopeType::kYarn, "yarn", kYarnFields},
};

/// The type by its new or its old name. Both may be present if they agree.
const RopeTypeRow& FindRopeType(const Fields& rope) {
  const RopeTypeRow* found = nullptr;
  for (const std::string_view key : {"rope_type", "type"}) {
    const Json* name = rope.FindNonNull(key);
    if (name == nullptr) {
      continue;
    }
    const auto row = std::ranges::find_if(
        kRopeTypes, [name](const RopeTypeRow& type) { return *name == type.name; });
    if (row == kRopeTypes.end()) {
      std::string list;
      for (const RopeTypeRow& type : kRopeTypes) {
        list += (list.empty() ? "" : ", ") + std::string(type.name);
      }
      rope.Refuse(key, *name, "this kind of RoPE is not supported (supported are " + list + ")");
    }
    if (found != nullptr && found != &*row) {
      rope.Refuse(key, *name, "rope_type is \"" + std::string(found->name) + "\"");
    }
    found = &*row;
  }
  return found == nullptr ? kRopeTypes.front() : *found;
}

/// Refuses fields that transformers would ignore or that its RoPE of this type does not have.
void RefuseOtherFields(const Fields& rope, const RopeTypeRow& type) {
  for (const auto& [key, value] : rope.object().items()) {
    const bool known = key == "rope_type" || key == "type" || key == "rope_theta" ||
                       std::ranges::find(type.fields, key) != type.fields.end();
    if (known || value.is_null()) {
      continue;
    }
    if (key != "partial_rotary_factor") {
      rope.Refuse(key, value, "not supported with RoPE of type \"" + std::string(type.name) + "\"");
    }
    if (value != 1) {
      rope.Refuse(key, value, "partial rotary embeddings are not supported");
    }
  }
}

double RequiredNumber(const Fields& rope, std::string_view name) {
  const std::optional<double> number = rope.OptionalPositiveNumber(name);
  if (!number) {
    rope.Fail(rope.Path(name) + " is missing");
  }
  return *number;
}

/// `original_max_position_embeddings` is one of the RoPE parameters or, in some files, a field
/// beside them. If it is in neither place, max_position_embeddings counts.
std::int64_t OriginalPositions(const Fields& fields, const Fields& rope,
                               std::int64_t max_position_embeddings) {
  constexpr std::string_view kName = "original_max_position_embeddings";
  const Json* inner = rope.FindNonNull(kName);
  const Json* outer = fields.FindNonNull(kName);
  if (inner != nullptr && outer != nullptr && *inner != *outer) {
    fields.Refuse(kName, *outer, "it contradicts " + rope.Path(kName));
  }
  if (inner != nullptr) {
    return rope.IntegerOf(kName, *inner, kPositions);
  }
  return outer == nullptr ? max_position_embeddings : fields.IntegerOf(kName, *outer, kPositions);
}

/// The factor by which yarn multiplies cosines and sines: as in transformers'
/// modeling_rope_utils.py, after the paper (arXiv 2309.00071).
double YarnAttentionFactor(const Fields& rope, double factor) {
  if (const auto given = rope.OptionalPositiveNumber("attention_factor")) {
    return *given;
  }
  const auto scale = [factor](double mscale) {
    return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
  };
  // 0 has the same meaning as an absent field.
  const auto optional = [&rope](std::string_view name) {
    const Json* value = rope.Find(name);
    return value != nullptr && *value == 0 ? std::nullopt : rope.OptionalPositiveNumber(name);
  };
  const std::optional<double> mscale = optional("mscale");
  const std::optional<double> mscale_all_dim = optional("mscale_all_dim");
  return mscale && mscale_all_dim ? scale(*mscale) / scale(*mscale_all_dim) : scale(1.0);
}

RopeConfig ReadRopeObject(const Fields& fields, const Fields& rope, double theta,
                          std::int64_t max_position_embeddings) {
  const RopeTypeRow& row = FindRopeType(rope);
  RefuseOtherFields(rope, row);
  RopeConfig table{.type = row.type, .theta = rope.PositiveNumber("rope_theta", theta)};
  if (row.type == RopeType::kDefault) {
    return table;
  }
  if (row.type == RopeType::kLinear) {
    table.factor = RequiredNumber(rope, "factor");
    return table;
  }
  table.original_max_position_embeddings = OriginalPositions(fields, rope, max_position_embeddings);
  if (row.type == RopeType::kLlama3) {
    table.factor = RequiredNumber(rope, "factor");
    table.low_freq_factor = RequiredNumber(rope, "low_freq_factor");
    table.high_freq_factor = RequiredNumber(rope, "high_freq_factor");
    if (table.high_freq_factor <= table.low_freq_factor) {
      rope.Refuse(
          "high_freq_factor", table.high_freq_factor,
          "it must be above low_freq_factor, which is " + Json(table.low_freq_factor).dump());
    }
    return table;
  }
  if (rope.Find("factor") == nullptr) {
    rope.Fail(rope.Path("factor") + " is missing");
  }
  // null means the ratio of the two context lengths.
  table.factor = rope.OptionalPositiveNumber("factor").value_or(
      static_cast<double>(max_position_embeddings) /
      static_cast<double>(table.original_max_position_embeddings));
  table.attention_factor = YarnAttentionFactor(rope, table.factor);
  table.beta_fast = rope.OptionalPositiveNumber("beta_fast").value_or(table.beta_fast);
  table.beta_slow = rope.OptionalPositiveNumber("beta_slow").value_or(table.beta_slow);
  table.truncate = rope.Bool("truncate", true);
  return table;
}

/// The theta. Several places may have it; their values must agree.
double RopeTheta(const Fields& fields, std::string_view name, std::span<const Fields> ropes,
                 double fallback) {
  std::optional<double> theta;
  if (fields.Find(name) != nullptr) {
    theta = fields.PositiveNumber(name, 0);
  }
  for (const Fields& rope : ropes) {
    if (rope.Find("rope_theta") == nullptr) {
      continue;
    }
    const double inner = rope.PositiveNumber("rope_theta", 0);
    if (theta && inner != *theta) {
      fields.Fail(rope.Path("rope_theta") + " contradicts the " + std::string(name) +
                  " elsewhere: " + Json(inner).dump() + " and " + Json(*theta).dump());
    }
    theta = inner;
  }
  return theta.value_or(fallback);
}

/// The one table that `theta_name` and the objects `ropes` describe. The objects must agree; an
/// empty one says nothing.
RopeConfig ReadTable(const Fields& fields, std::string_view theta_name,
                     std::span<const Fields> ropes, double default_theta,
                     std::int64_t max_position_embeddings) {
  const double theta = RopeTheta(fields, theta_name, ropes, default_theta);
  std::optional<RopeConfig> table;
  for (const Fields& rope : ropes) {
    if (rope.object().empty()) {
      continue;
    }
    const RopeConfig read = ReadRopeObject(fields, rope, theta, max_position_embeddings);
    if (table && read != *table) {
      fields.Fail("rope_scaling and rope_parameters contradict each other");
    }
    table = read;
  }
  return table.value_or(RopeConfig{.theta = theta});
}

/// The object in field `name`; none if the field is absent or null.
void AddObject(const Fields& fields, std::string_view name, std::vector<Fields>& objects) {
  if (const Json* value = fields.FindNonNull(name)) {
    objects.push_back(fields.Nested(name, *value));
  }
}

}  // namespace

void ReadRope(const Fields& fields, const Family& family, ModelConfig& config) {
  // transformers 4 has rope_theta and rope_scaling; transformers 5 has both in rope_parameters.
  std::vector<Fields> global;
  AddObject(fields, "rope_scaling", global);
  std::vector<Fields> local;
  if (family.rope_local_theta) {
    if (const Json* value = fields.FindNonNull("rope_parameters")) {
      const Fields parameters = fields.Nested("rope_parameters", *value);
      for (const auto& [key, part] : value->items()) {
        if (key != "full_attention" && key != "sliding_attention") {
          parameters.Refuse(key, part,
                            "this family has parameters for each of full_attention and "
                            "sliding_attention");
        }
      }
      AddObject(parameters, "full_attention", global);
      AddObject(parameters, "sliding_attention", local);
    }
  } else {
    AddObject(fields, "rope_parameters", global);
  }

  const std::int64_t positions = config.max_position_embeddings;
  config.rope_tables = {
      ReadTable(fields, family.names.rope_theta, global, family.rope_theta, positions)};
  if (family.rope_local_theta) {
    config.rope_tables.push_back(ReadTable(fields, family.names.rope_local_theta, local,
                                           *family.rope_local_theta, positions));
  }
  // Many files with yarn give the context length before scaling. It is extended as in vLLM.
  const RopeConfig& rope = config.rope_tables.front();
  if (rope.type == RopeType::kYarn) {
    const double scaled = rope.factor * static_cast<double>(rope.original_max_position_embeddings);
    const double limit = std::min(scaled, static_cast<double>(kPositions.most));
    config.max_position_embeddings = std::max(positions, static_cast<std::int64_t>(limit));
  }
}

}  // namespace scorecast::proto
