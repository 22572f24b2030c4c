#include "proto/model/config_obstacles.h"

#include <algorithm>
#include <array>

#include <nlohmann/json.hpp>

#include "proto/base/one_line.h"
#include "proto/model/key_tables.h"

namespace scorecast::proto {
namespace {

/// Parts of architectures' names that say what kind of model it is.
struct Kind {
  std::string_view part;
  std::string_view what;
};

constexpr std::string_view kT5 = "T5's biases by relative position are not supported";
constexpr std::string_view kDeberta = "DeBERTa's attention to relative positions is not supported";

constexpr std::array kKinds = {
    Kind{"Moe", kExpertModels},
    Kind{"MoE", kExpertModels},
    Kind{"Mixtral", kExpertModels},
    Kind{"VL", kMultimodalModels},
    Kind{"Llava", kMultimodalModels},
    Kind{"ForConditionalGeneration", kMultimodalModels},
    Kind{"Bloom", kAlibiModels},
    Kind{"MPT", kAlibiModels},
    Kind{"Mpt", kAlibiModels},
    Kind{"Bidirectional", kBidirectionalModels},
    Kind{"T5", kT5},
    Kind{"Deberta", kDeberta},
};

}  // namespace

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

void RefuseObstacles(const Fields& fields, const Family* family,
                     std::span<const IgnoredKey> ignored) {
  for (const auto& [key, value] : fields.object().items()) {
    const KeyRow* row = FindRow(kConfigKeys, key, family);
    if (row == nullptr ||
        std::ranges::find(ignored, IgnoredKey{"config.json", fields.Path(key)}) != ignored.end()) {
      continue;
    }
    const KeyFinding finding = Judge(*row, key, value);
    if (finding.use == KeyUse::kRefused) {
      fields.Refuse(key, value, finding.why);
    }
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
