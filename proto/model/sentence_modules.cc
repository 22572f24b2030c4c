#include "proto/model/sentence_modules.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "proto/model/config_fields.h"
#include "proto/model/config_heads.h"
#include "proto/model/sentence_bert_file.h"

namespace scorecast::proto {
namespace {

constexpr std::int64_t kMaxFileBytes = 16 << 20;
constexpr Bounds kValues{1, 1 << 20};
/// More than the six that there are, because one may be repeated.
constexpr std::size_t kMostPoolings = 64;

constexpr std::string_view kSettings = "config_sentence_transformers.json";
constexpr std::string_view kEmbedderClass = "SentenceTransformer";
constexpr std::string_view kCrossEncoderClass = "CrossEncoder";

constexpr std::array<std::string_view, 6> kModuleNames = {"Transformer", "Pooling",   "Dense",
                                                          "LayerNorm",   "Normalize", "LogitScore"};
constexpr std::string_view kSupported =
    "supported are Transformer, then Pooling, then Dense and LayerNorm, then Normalize";

// Names under which modules pass on what they make.
constexpr std::string_view kTokenEmbeddings = "token_embeddings";
constexpr std::string_view kSentenceEmbedding = "sentence_embedding";
constexpr std::string_view kScores = "scores";

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

[[noreturn]] void Refuse(const std::filesystem::path& model_dir, const SentenceModule& module,
                         const std::string& why) {
  throw StartupError(OneLinePath((model_dir / "modules.json").string()) + ": a module of type " +
                     Quoted(module.type, 120) + " " + why + " (" + std::string(kSupported) + ")");
}

/// Whether `path` is empty or a folder below the model's directory.
bool IsInside(const std::filesystem::path& path) {
  return !path.is_absolute() &&
         std::ranges::none_of(path, [](const auto& part) { return part == ".."; });
}

/// Without Dropout modules, which do nothing.
std::vector<SentenceModule> ReadModuleList(const std::filesystem::path& path) {
  const std::string origin = OneLinePath(path.string());
  const Json root = ParseList(ReadRegularFile(path, kMaxFileBytes), origin);
  std::vector<SentenceModule> modules;
  for (const Json& element : root) {
    const std::string where = "[" + std::to_string(modules.size()) + "]";
    if (!element.is_object()) {
      throw StartupError(origin + ": " + where + " is not an object");
    }
    const Fields fields(element, origin, where + ".");
    SentenceModule& module = modules.emplace_back();
    module.where = where;
    const Json* type = fields.FindNonNull("type");
    if (type == nullptr) {
      fields.Fail(where + ".type is missing");
    }
    module.type = fields.StringOf("type", *type);
    if (const Json* folder = fields.FindNonNull("path")) {
      module.folder = fields.StringOf("path", *folder);
      if (!IsInside(module.folder)) {
        fields.Refuse("path", *folder, "it must be a folder of the model's directory");
      }
    }
  }
  std::erase_if(modules, [](const SentenceModule& module) { return module.name() == "Dropout"; });
  if (modules.empty()) {
    throw StartupError(origin + ": it names no module that does something");
  }
  return modules;
}

/// The config.json of a module that must have one.
std::filesystem::path ConfigOf(const std::filesystem::path& model_dir,
                               const SentenceModule& module) {
  const std::filesystem::path file = std::filesystem::path(module.folder) / "config.json";
  if (!FileExists(model_dir / file)) {
    throw StartupError(OneLinePath((model_dir / "modules.json").string()) + ": " + module.where +
                       ".path is " + Quoted(module.folder) + ": there is no file " +
                       OneLinePath(file.string()));
  }
  return model_dir / file;
}

/// The class that runs the modules.
std::string ReadClass(const std::filesystem::path& path) {
  constexpr std::string_view kName = "model_type";
  if (FileExists(path)) {
    const ConfigFile file(path);
    if (const Json* name = file.fields().Find(kName)) {
      return file.fields().StringOf(kName, *name);
    }
  }
  return std::string(kEmbedderClass);
}

/// Why the modules of a class are refused.
std::string WhyClassIsRefused(std::string_view name) {
  // "ColBERT" is PyLate's name.
  if (name == "MultiVectorEncoder" || name == "ColBERT") {
    return "models that make several vectors of a text (ColBERT) are not supported";
  }
  return name == "SparseEncoder" ? "models that make sparse vectors (SPLADE) are not supported"
                                 : "supported are " + std::string(kEmbedderClass) + " and " +
                                       std::string(kCrossEncoderClass);
}

struct PoolingName {
  std::string_view field;  ///< Before version 6.
  std::string_view mode;
  std::optional<Pooling> pooling;  ///< nullopt: not supported.
};

/// In the order in which those of the fields are concatenated.
constexpr std::array kPoolings = {
    PoolingName{"pooling_mode_cls_token", "cls", Pooling::kCls},
    PoolingName{"pooling_mode_max_tokens", "max", Pooling::kMax},
    PoolingName{"pooling_mode_mean_tokens", "mean", Pooling::kMean},
    PoolingName{"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", std::nullopt},
    PoolingName{"pooling_mode_weightedmean_tokens", "weightedmean", std::nullopt},
    PoolingName{"pooling_mode_lasttoken", "lasttoken", Pooling::kLast},
};
constexpr std::string_view kUnsupportedPooling =
    "not supported (supported are cls, max, mean and lasttoken)";

/// The pooling of one name in `pooling_mode`.
Pooling PoolingOf(const Fields& fields, const Json& mode) {
  const auto* const known =
      std::ranges::find_if(kPoolings, [&](const PoolingName& name) { return mode == name.mode; });
  if (known == kPoolings.end() || !known->pooling) {
    fields.Refuse("pooling_mode", mode, std::string(kUnsupportedPooling));
  }
  return *known->pooling;
}

/// As sentence-transformers reads `pooling_mode`, or the fields before version 6 if it is absent.
std::vector<Pooling> ReadPoolings(const Fields& fields) {
  std::vector<Pooling> poolings;
  const Json* mode = fields.Find("pooling_mode");
  if (mode != nullptr && !mode->is_array()) {
    return {PoolingOf(fields, *mode)};
  }
  if (mode != nullptr) {
    if (mode->empty() || mode->size() > kMostPoolings) {
      fields.Fail("pooling_mode is a list of " + Count(mode->size(), "name") +
                  ": it must have from 1 to " + std::to_string(kMostPoolings));
    }
    for (const Json& one : *mode) {
      poolings.push_back(PoolingOf(fields, one));
    }
    return poolings;
  }
  for (const PoolingName& name : kPoolings) {
    if (!fields.Bool(name.field, false)) {
      continue;
    }
    if (!name.pooling) {
      fields.Refuse(name.field, true, std::string(kUnsupportedPooling));
    }
    poolings.push_back(*name.pooling);
  }
  return poolings.empty() ? std::vector<Pooling>{Pooling::kMean} : poolings;
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
  const Json* value = fields.Find("activation_function");
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

/// The name under which a module finds its input.
std::string ReadInputName(const Fields& fields) {
  const Json* name = fields.Find("module_input_name");
  return name == nullptr ? std::string(kSentenceEmbedding)
                         : fields.StringOf("module_input_name", *name);
}

/// The name under which a module passes on its output: that of its input unless there is another.
std::string ReadOutputName(const Fields& fields) {
  const Json* name = fields.FindNonNull("module_output_name");
  return name == nullptr ? ReadInputName(fields) : fields.StringOf("module_output_name", *name);
}

[[noreturn]] void RefuseName(const Fields& fields, std::string_view field, const std::string& name,
                             std::string_view supported) {
  fields.Fail(std::string(field) + " is " + Quoted(name) + ": supported is " +
              std::string(supported));
}

void CheckInputSize(const Fields& fields, std::string_view name, std::int64_t size,
                    std::int64_t values) {
  if (size != values) {
    fields.Fail(std::string(name) + " is " + std::to_string(size) + ", but it gets " +
                std::to_string(values) + " values");
  }
}

/// The file of a module's tensors, relative to the model's directory. It must be there.
std::filesystem::path WeightFile(const std::filesystem::path& model_dir,
                                 const std::string& folder) {
  std::filesystem::path file = std::filesystem::path(folder) / "model.safetensors";
  if (!FileExists(model_dir / file)) {
    const bool has_pickle = FileExists(model_dir / folder / "pytorch_model.bin");
    throw StartupError(OneLinePath((model_dir / file).string()) + ": there is no such file" +
                       (has_pickle ? ", only a pytorch_model.bin, which is not read: load the "
                                     "model with sentence-transformers and save it again"
                                   : ""));
  }
  return file;
}

/// Makes a head of the modules behind the model, each of which gets what the module before it
/// makes.
class HeadOfModules {
 public:
  HeadOfModules(const std::filesystem::path& model_dir, bool makes_scores, std::int64_t hidden_size)
      : model_dir_(model_dir), makes_scores_(makes_scores), values_(hidden_size) {}

  void Add(const SentenceModule& module) {
    const std::string_view name = module.name();
    if (name == "Pooling" && made_ == kTokenEmbeddings) {
      AddPooling(module);
    } else if (name == "Dense" && made_ != kTokenEmbeddings && !head_.normalize) {
      AddDense(module);
    } else if (name == "LayerNorm" && made_ == kSentenceEmbedding && !head_.normalize) {
      AddLayerNorm(module);
    } else if (name == "Normalize" && made_ == kSentenceEmbedding) {
      AddNormalize(module);
    } else {
      Refuse(model_dir_, module, "is not supported in this place");
    }
  }

  ReadHead Take() && {
    if (made_ != (makes_scores_ ? kScores : kSentenceEmbedding)) {
      throw StartupError(OneLinePath((model_dir_ / "modules.json").string()) +
                         ": the last module of a CrossEncoder must be a Dense module whose "
                         "module_output_name is scores");
    }
    head_.output_size = values_;
    if (!makes_scores_) {
      CutResult();
    }
    return std::move(head_);
  }

 private:
  void AddPooling(const SentenceModule& module) {
    CheckTask();
    const ConfigFile file(ConfigOf(model_dir_, module));
    const Fields& fields = file.fields();
    for (const std::string_view name : {"embedding_dimension", "word_embedding_dimension"}) {
      const Json* size = fields.FindNonNull(name);
      if (size != nullptr && *size != values_) {
        fields.Refuse(name, *size, "the model's hidden_size is " + std::to_string(values_));
      }
    }
    if (makes_scores_ && !fields.Bool("include_prompt", true) && HasDefaultPrompt()) {
      fields.Refuse("include_prompt", false,
                    "not supported in a CrossEncoder that has a default_prompt_name");
    }
    head_.pooling = ReadPoolings(fields);
    values_ *= static_cast<std::int64_t>(head_.pooling.size());
    made_ = kSentenceEmbedding;
  }

  /// Refuses a model that does not pass on its rows.
  void CheckTask() const {
    constexpr std::string_view kName = "transformer_task";
    const std::optional<std::filesystem::path> path = FindSentenceBertFile(model_dir_);
    if (!path) {
      return;
    }
    const ConfigFile file(*path);
    const Json* task = file.fields().FindNonNull(kName);
    if (task != nullptr && *task != "feature-extraction") {
      file.fields().Refuse(kName, *task, "a Pooling module needs feature-extraction");
    }
  }

  void AddDense(const SentenceModule& module) {
    const ConfigFile file(ConfigOf(model_dir_, module));
    const Fields& fields = file.fields();
    if (const std::string input = ReadInputName(fields); input != made_) {
      RefuseName(fields, "module_input_name", input, made_);
    }
    const std::string output = ReadOutputName(fields);
    if (output != kSentenceEmbedding && !(makes_scores_ && output == kScores)) {
      RefuseName(fields, "module_output_name", output,
                 makes_scores_ ? "sentence_embedding or scores" : kSentenceEmbedding);
    }
    if (fields.Bool("use_residual", false)) {
      fields.Refuse("use_residual", true, "not supported");
    }
    CheckInputSize(fields, "in_features", fields.Integer("in_features", kValues), values_);
    made_ = output == kScores ? kScores : kSentenceEmbedding;
    values_ = fields.Integer("out_features", made_ == kScores ? kLabels : kValues);
    HeadStep step{.weight = "linear.weight",
                  .activation = ReadActivation(fields),
                  .out_features = values_,
                  .file = WeightFile(model_dir_, module.folder)};
    if (fields.Bool("bias", true)) {
      step.bias = "linear.bias";
    }
    head_.steps.push_back(std::move(step));
  }

  void AddLayerNorm(const SentenceModule& module) {
    const ConfigFile file(ConfigOf(model_dir_, module));
    CheckInputSize(file.fields(), "dimension", file.fields().Integer("dimension", kValues),
                   values_);
    head_.steps.push_back({.norm = "norm.weight",
                           .norm_bias = "norm.bias",
                           .out_features = values_,
                           .file = WeightFile(model_dir_, module.folder)});
  }

  void AddNormalize(const SentenceModule& module) {
    // Older versions leave the folder empty, and Git does not keep such folders.
    const std::filesystem::path config = model_dir_ / module.folder / "config.json";
    if (!module.folder.empty() && FileExists(config)) {
      const ConfigFile file(config);
      if (const std::string input = ReadInputName(file.fields()); input != kSentenceEmbedding) {
        RefuseName(file.fields(), "module_input_name", input, kSentenceEmbedding);
      }
      if (const std::string output = ReadOutputName(file.fields()); output != kSentenceEmbedding) {
        RefuseName(file.fields(), "module_output_name", output, kSentenceEmbedding);
      }
    }
    head_.normalize = true;
  }

  bool HasDefaultPrompt() const {
    const std::filesystem::path path = model_dir_ / kSettings;
    return FileExists(path) &&
           ConfigFile(path).fields().FindNonNull("default_prompt_name") != nullptr;
  }

  void CutResult() {
    const std::filesystem::path path = model_dir_ / kSettings;
    if (!FileExists(path)) {
      return;
    }
    const ConfigFile file(path);
    if (file.fields().FindNonNull("truncate_dim") != nullptr) {
      // A shorter vector stays as it is.
      head_.output_size =
          std::min(head_.output_size, file.fields().Integer("truncate_dim", {1, 1 << 30}));
    }
  }

  const std::filesystem::path& model_dir_;
  const bool makes_scores_;
  std::string_view made_ = kTokenEmbeddings;  ///< What the last module makes.
  std::int64_t values_;                       ///< Numbers of it, for a token or for a text.
  ReadHead head_;
};

}  // namespace

std::string_view SentenceModule::name() const {
  return type.starts_with("sentence_transformers.") ? LastPart(type) : type;
}

SentenceModules::SentenceModules(std::filesystem::path model_dir)
    : model_dir_(std::move(model_dir)) {
  if (const std::filesystem::path path = model_dir_ / "modules.json"; FileExists(path)) {
    modules_ = ReadModuleList(path);
    class_ = ReadClass(model_dir_ / kSettings);
  }
}

void SentenceModules::RefuseUnsupported() const {
  if (modules_.empty()) {
    return;
  }
  if (class_ != kEmbedderClass && class_ != kCrossEncoderClass) {
    throw StartupError(OneLinePath((model_dir_ / kSettings).string()) + ": model_type is " +
                       Quoted(class_) + ": " + WhyClassIsRefused(class_));
  }
  for (const SentenceModule& module : modules_) {
    if (std::ranges::find(kModuleNames, module.name()) == kModuleNames.end()) {
      Refuse(model_dir_, module, "is not supported");
    }
  }
  const SentenceModule& model = modules_.front();
  if (model.name() != "Transformer") {
    Refuse(model_dir_, model, "is the first one");
  }
  if (!model.folder.empty()) {
    throw StartupError(OneLinePath((model_dir_ / "modules.json").string()) +
                       ": the model itself is in the folder " + Quoted(model.folder) +
                       ": load it with sentence-transformers and save it again");
  }
  for (std::size_t i = 1; i < modules_.size() && !Has("Pooling"); ++i) {
    if (modules_[i].name() != "LogitScore" || i > 1) {
      Refuse(model_dir_, modules_[i], "is not supported without a Pooling module");
    }
  }
}

bool SentenceModules::Has(std::string_view name) const {
  return std::ranges::find(modules_, name, &SentenceModule::name) != modules_.end();
}

bool SentenceModules::is_cross_encoder() const { return class_ == kCrossEncoderClass; }

bool SentenceModules::make_embeddings() const { return class_ == kEmbedderClass && Has("Pooling"); }

bool SentenceModules::make_scores() const { return is_cross_encoder() && Has("Pooling"); }

ReadHead SentenceModules::Head(std::int64_t hidden_size) const {
  RefuseUnsupported();
  HeadOfModules head(model_dir_, make_scores(), hidden_size);
  for (std::size_t i = 1; i < modules_.size(); ++i) {
    head.Add(modules_[i]);
  }
  return std::move(head).Take();
}

}  // namespace scorecast::proto
