#include "proto/model/sentence_modules.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "proto/model/config_fields.h"

namespace scorecast::proto {
namespace {

constexpr std::int64_t kMaxFileBytes = 16 << 20;
constexpr Bounds kValues{1, 1 << 20};

constexpr std::string_view kSupported =
    "supported are Transformer, then Pooling, then Dense, then Normalize";

/// The last part of a module's or an activation's type, e.g. "Pooling".
std::string_view LastPart(std::string_view type) { return type.substr(type.rfind('.') + 1); }

/// A JSON object in a file of the model's directory.
class ConfigFile {
 public:
  explicit ConfigFile(const std::filesystem::path& path)
      : origin_(OneLinePath(path.string())),
        root_(ParseObject(ReadRegularFile(path, kMaxFileBytes), origin_)),
        fields_(root_, origin_, "") {}
  ConfigFile(const ConfigFile&) = delete;
  ConfigFile& operator=(const ConfigFile&) = delete;

  const Fields& fields() const { return fields_; }

 private:
  const std::string origin_;
  const Json root_;
  const Fields fields_;
};

struct Module {
  std::string type;
  std::string path;  ///< A folder of the model's directory, or empty.

  std::string_view name() const { return LastPart(type); }
};

/// Whether `path` is empty or a folder below the model's directory.
bool IsInside(const std::filesystem::path& path) {
  return !path.is_absolute() &&
         std::ranges::none_of(path, [](const auto& part) { return part == ".."; });
}

std::vector<Module> ReadModuleList(const std::filesystem::path& path) {
  const std::string origin = OneLinePath(path.string());
  const Json root = ParseList(ReadRegularFile(path, kMaxFileBytes), origin);
  std::vector<Module> modules;
  for (const Json& element : root) {
    const std::string where = "[" + std::to_string(modules.size()) + "]";
    if (!element.is_object()) {
      throw StartupError(origin + ": " + where + " is not an object");
    }
    const Fields fields(element, origin, where + ".");
    Module& module = modules.emplace_back();
    const Json* type = fields.FindNonNull("type");
    if (type == nullptr) {
      fields.Fail(where + ".type is missing");
    }
    module.type = fields.StringOf("type", *type);
    if (const Json* folder = fields.FindNonNull("path")) {
      module.path = fields.StringOf("path", *folder);
      if (!IsInside(module.path)) {
        fields.Refuse("path", *folder, "it must be a folder of the model's directory");
      }
    }
  }
  return modules;
}

struct PoolingName {
  std::string_view field;  ///< Before version 6.
  std::string_view mode;
  std::optional<Pooling> pooling;  ///< nullopt: not supported.
};

/// In the order in which several are concatenated.
constexpr std::array kPoolings = {
    PoolingName{"pooling_mode_cls_token", "cls", Pooling::kCls},
    PoolingName{"pooling_mode_max_tokens", "max", Pooling::kMax},
    PoolingName{"pooling_mode_mean_tokens", "mean", Pooling::kMean},
    PoolingName{"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", std::nullopt},
    PoolingName{"pooling_mode_weightedmean_tokens", "weightedmean", std::nullopt},
    PoolingName{"pooling_mode_lasttoken", "lasttoken", Pooling::kLast},
};
constexpr std::string_view kSupportedPoolings = "supported are cls, max, mean and lasttoken";

/// Adds the pooling of one name in `pooling_mode`.
void AddMode(const Fields& fields, const Json& mode, std::vector<Pooling>& pooling) {
  const auto* const known =
      std::ranges::find_if(kPoolings, [&](const PoolingName& name) { return mode == name.mode; });
  if (known == kPoolings.end() || !known->pooling) {
    fields.Refuse("pooling_mode", mode, "not supported (" + std::string(kSupportedPoolings) + ")");
  }
  pooling.push_back(*known->pooling);
}

std::vector<Pooling> ReadPooling(const std::filesystem::path& path, std::int64_t hidden_size) {
  const ConfigFile file(path);
  const Fields& fields = file.fields();
  for (const std::string_view name : {"embedding_dimension", "word_embedding_dimension"}) {
    const Json* size = fields.FindNonNull(name);
    if (size != nullptr && *size != hidden_size) {
      fields.Refuse(name, *size, "the model's hidden_size is " + std::to_string(hidden_size));
    }
  }
  std::vector<Pooling> pooling;
  if (const Json* mode = fields.FindNonNull("pooling_mode")) {
    if (mode->is_array()) {
      for (const Json& one : *mode) {
        AddMode(fields, one, pooling);
      }
      std::ranges::sort(pooling);
      pooling.erase(std::ranges::unique(pooling).begin(), pooling.end());
    } else {
      AddMode(fields, *mode, pooling);
    }
  }
  for (const PoolingName& name : kPoolings) {
    const bool is_on = fields.Bool(name.field, false);
    if (is_on && !name.pooling) {
      fields.Refuse(name.field, true, "not supported (" + std::string(kSupportedPoolings) + ")");
    }
    if (is_on && fields.FindNonNull("pooling_mode") == nullptr) {
      pooling.push_back(*name.pooling);
    }
  }
  return pooling.empty() ? std::vector<Pooling>{Pooling::kMean} : pooling;
}

struct HeadActivationName {
  std::string_view name;
  HeadActivation activation;
};

constexpr std::array kHeadActivations = {
    HeadActivationName{"Identity", HeadActivation::kIdentity},
    HeadActivationName{"Tanh", HeadActivation::kTanh},
    HeadActivationName{"ReLU", HeadActivation::kRelu},
    HeadActivationName{"GELU", HeadActivation::kGelu},
    HeadActivationName{"SiLU", HeadActivation::kSilu},
    HeadActivationName{"Sigmoid", HeadActivation::kSigmoid},
};

HeadActivation ReadActivation(const Fields& fields) {
  const Json* value = fields.FindNonNull("activation_function");
  if (value == nullptr) {
    return HeadActivation::kTanh;
  }
  const std::string& type = fields.StringOf("activation_function", *value);
  const auto* const known =
      std::ranges::find(kHeadActivations, LastPart(type), &HeadActivationName::name);
  if (!type.starts_with("torch.") || known == kHeadActivations.end()) {
    fields.Refuse("activation_function", *value,
                  "supported are PyTorch's Identity, Tanh, ReLU, GELU, SiLU and Sigmoid");
  }
  return known->activation;
}

/// Refuses a module that does not take the text's vector.
void CheckInput(const Fields& fields) {
  for (const std::string_view name : {"module_input_name", "module_output_name"}) {
    const Json* value = fields.FindNonNull(name);
    if (value != nullptr && *value != "sentence_embedding") {
      fields.Refuse(name, *value, "supported is sentence_embedding");
    }
  }
}

HeadStep ReadDense(const std::filesystem::path& model_dir, const std::string& folder,
                   std::int64_t in_features) {
  const ConfigFile file(model_dir / folder / "config.json");
  const Fields& fields = file.fields();
  CheckInput(fields);
  if (fields.Bool("use_residual", false)) {
    fields.Refuse("use_residual", true, "not supported");
  }
  if (const std::int64_t in = fields.Integer("in_features", kValues); in != in_features) {
    fields.Fail("in_features is " + std::to_string(in) + ", but it gets " +
                std::to_string(in_features) + " values");
  }
  HeadStep step{.weight = "linear.weight",
                .activation = ReadActivation(fields),
                .out_features = fields.Integer("out_features", kValues),
                .file = std::filesystem::path(folder) / "model.safetensors"};
  if (fields.Bool("bias", true)) {
    step.bias = "linear.bias";
  }
  const std::filesystem::path weights = model_dir / step.file;
  if (!FileExists(weights)) {
    const bool has_pickle = FileExists(model_dir / folder / "pytorch_model.bin");
    throw StartupError(OneLinePath(weights.string()) + ": there is no such file" +
                       (has_pickle ? ", only a pytorch_model.bin, which is not read: load the "
                                     "model with sentence-transformers and save it again"
                                   : ""));
  }
  return step;
}

void ReadTruncation(const std::filesystem::path& model_dir, ReadHead& head) {
  const std::filesystem::path path = model_dir / "config_sentence_transformers.json";
  if (!FileExists(path)) {
    return;
  }
  const ConfigFile file(path);
  if (file.fields().FindNonNull("truncate_dim") != nullptr) {
    const Bounds bounds{1, head.output_size};
    head.output_size = *file.fields().OptionalInteger("truncate_dim", bounds);
  }
}

}  // namespace

SentenceModules ReadSentenceModules(const std::filesystem::path& model_dir,
                                    std::int64_t hidden_size) {
  SentenceModules result;
  const std::filesystem::path path = model_dir / "modules.json";
  if (!FileExists(path)) {
    return result;
  }
  const std::string origin = OneLinePath(path.string());
  const auto refuse = [&](const Module& module, const std::string& why) {
    throw StartupError(origin + ": a module of type " + Quoted(module.type, 120) + " " + why +
                       " (" + std::string(kSupported) + ")");
  };
  std::vector<Module> modules = ReadModuleList(path);
  std::erase_if(modules, [](const Module& module) { return module.name() == "Dropout"; });
  const auto is = [](std::string_view name) {
    return [name](const Module& module) { return module.name() == name; };
  };
  if (std::ranges::none_of(modules, is("Pooling"))) {
    const auto other = std::ranges::find_if_not(modules, is("Transformer"));
    result.unsupported = other == modules.end() ? "" : other->type;
    return result;
  }
  if (!is("Transformer")(modules.front())) {
    refuse(modules.front(), "is the first one");
  }
  if (!modules.front().path.empty()) {
    throw StartupError(origin + ": the model itself is in the folder " +
                       Quoted(modules.front().path) +
                       ": load it with sentence-transformers and save it again");
  }
  ReadHead head;
  std::int64_t values = hidden_size;
  for (std::size_t i = 1; i < modules.size(); ++i) {
    const Module& module = modules[i];
    if (is("Pooling")(module) && i == 1) {
      head.pooling = ReadPooling(model_dir / module.path / "config.json", hidden_size);
      values *= static_cast<std::int64_t>(head.pooling.size());
    } else if (is("Dense")(module) && i > 1 && !head.normalize) {
      head.steps.push_back(ReadDense(model_dir, module.path, values));
      values = head.steps.back().out_features;
    } else if (is("Normalize")(module) && i > 1) {
      const std::filesystem::path config = model_dir / module.path / "config.json";
      if (!module.path.empty() && FileExists(config)) {
        CheckInput(ConfigFile(config).fields());
      }
      head.normalize = true;
    } else {
      const bool is_known = is("Transformer")(module) || is("Pooling")(module) ||
                            is("Dense")(module) || is("Normalize")(module);
      refuse(module, is_known ? "is not supported in this place" : "is not supported");
    }
  }
  head.output_size = values;
  ReadTruncation(model_dir, head);
  result.read_head = std::move(head);
  return result;
}

}  // namespace scorecast::proto
