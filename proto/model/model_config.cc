#include "proto/model/model_config.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/model/families.h"

namespace scorecast::proto {
namespace {

using Json = nlohmann::json;

/// Inclusive bounds on a size. They are far beyond any model, yet small enough that the size of a
/// tensor or of a whole model does not overflow 64 bits.
struct Bounds {
  std::int64_t least = 1;
  std::int64_t most = 0;
};
constexpr Bounds kHiddenSize{1, 1 << 20};
constexpr Bounds kLayers{1, 1 << 12};
constexpr Bounds kHeads{1, 1 << 13};
constexpr Bounds kHeadDim{2, 1 << 12};
constexpr Bounds kIntermediateSize{1, 1 << 24};
constexpr Bounds kVocabSize{1, 1 << 24};
constexpr Bounds kPositions{1, 1 << 30};

constexpr std::streamoff kMaxConfigBytes = 16 << 20;

/// A value as messages show it. Lists and objects are not printed because they may be large.
std::string Shown(const Json& value) {
  if (value.is_string()) {
    return Quoted(value.get_ref<const std::string&>());
  }
  if (value.is_array()) {
    return value.empty() ? "[]" : "a list";
  }
  if (value.is_object()) {
    return value.empty() ? "{}" : "an object";
  }
  return value.dump();
}

std::string Supported(std::string_view Family::*column) {
  std::string list;
  for (const Family& family : kFamilies) {
    list += (list.empty() ? "" : ", ") + std::string(family.*column);
  }
  return list;
}

/// An object of config.json: reads fields by name and throws errors that name them.
class Fields {
 public:
  /// Messages put `path` before a field's name, e.g. "rope_scaling.".
  Fields(const Json& object, const std::string& origin, std::string path)
      : object_(object), origin_(origin), path_(std::move(path)) {}

  [[noreturn]] void Fail(const std::string& what) const {
    throw StartupError(origin_ + ": " + what);
  }

  [[noreturn]] void Refuse(std::string_view name, const Json& value, const std::string& why) const {
    Fail(path_ + OneLine(name, 80) + " is " + Shown(value) + ": " + why);
  }

  /// Null if the field is absent.
  const Json* Find(std::string_view name) const {
    const auto found = object_.find(name);
    return found == object_.end() ? nullptr : &*found;
  }

  /// Null if the field is absent or null.
  const Json* FindNonNull(std::string_view name) const {
    const Json* value = Find(name);
    return value != nullptr && value->is_null() ? nullptr : value;
  }

  std::optional<std::int64_t> OptionalInteger(std::string_view name, Bounds bounds) const {
    const Json* value = Find(name);
    return value == nullptr ? std::nullopt : std::optional(IntegerOf(name, *value, bounds));
  }

  std::int64_t Integer(std::string_view name, Bounds bounds) const {
    const auto value = OptionalInteger(name, bounds);
    if (!value) {
      Fail(path_ + std::string(name) + " is missing");
    }
    return *value;
  }

  std::int64_t IntegerOf(std::string_view name, const Json& value, Bounds bounds) const {
    const std::string range = std::to_string(bounds.least) + " to " + std::to_string(bounds.most);
    if (!value.is_number_integer()) {
      Refuse(name, value, "it must be an integer from " + range);
    }
    // An unsigned number is compared as such, because 2^63 and more would wrap.
    const bool too_large = value.is_number_unsigned() &&
                           value.get<std::uint64_t>() > static_cast<std::uint64_t>(bounds.most);
    if (too_large || value.get<std::int64_t>() < bounds.least) {
      Refuse(name, value, "it must be from " + range);
    }
    return value.get<std::int64_t>();
  }

  double PositiveNumber(std::string_view name, double fallback) const {
    const Json* value = Find(name);
    if (value == nullptr) {
      return fallback;
    }
    const double number = value->is_number() ? value->get<double>() : 0;
    if (!(number > 0) || !std::isfinite(number)) {
      Refuse(name, *value, "it must be a number above 0");
    }
    return number;
  }

  bool Bool(std::string_view name, bool fallback) const {
    const Json* value = Find(name);
    if (value == nullptr) {
      return fallback;
    }
    if (!value->is_boolean()) {
      Refuse(name, *value, "it must be true or false");
    }
    return value->get<bool>();
  }

 private:
  const Json& object_;
  const std::string& origin_;
  std::string path_;
};

const Family& FindFamily(const Fields& fields) {
  const Json* model_type = fields.FindNonNull("model_type");
  const Json* architectures = fields.FindNonNull("architectures");
  if (architectures == nullptr || (architectures->is_array() && architectures->empty())) {
    if (model_type == nullptr) {
      fields.Fail("neither architectures nor model_type is there to say what the model is");
    }
    for (const Family& family : kFamilies) {
      if (*model_type == family.model_type) {
        return family;
      }
    }
    fields.Refuse("model_type", *model_type, "supported are " + Supported(&Family::model_type));
  }
  if (!architectures->is_array() || architectures->size() != 1) {
    fields.Refuse("architectures", *architectures, "it must be a list of one name");
  }
  const Json& architecture = architectures->front();
  for (const Family& family : kFamilies) {
    if (architecture != family.architecture) {
      continue;
    }
    if (model_type != nullptr && *model_type != family.model_type) {
      fields.Refuse("model_type", *model_type,
                    "a " + std::string(family.architecture) + " is of type \"" +
                        std::string(family.model_type) + "\"");
    }
    return family;
  }
  fields.Refuse("architectures[0]", architecture,
                "supported are " + Supported(&Family::architecture));
}

void RefuseUnsupportedOptions(const Fields& fields) {
  for (const FixedOption& option : kFixedOptions) {
    const Json* value = fields.Find(option.name);
    if (value == nullptr) {
      continue;
    }
    const Json accepted = Json::parse(option.accepted);
    bool found = false;
    for (const Json& candidate : accepted) {
      found = found || *value == candidate;
    }
    if (!found) {
      fields.Refuse(option.name, *value,
                    "not supported (supported: " + accepted.dump() + ", or no such field)");
    }
  }
}

/// Refuses the model if transformers would give any layer's attention a window.
void RefuseWindows(const Fields& fields, const Family& family, std::int64_t layers) {
  const Json* layer_types = fields.FindNonNull("layer_types");
  if (layer_types != nullptr) {
    if (!layer_types->is_array() || layer_types->size() != static_cast<std::size_t>(layers)) {
      fields.Refuse(
          "layer_types", *layer_types,
          "it must be a list of num_hidden_layers = " + std::to_string(layers) + " names");
    }
    for (std::size_t i = 0; i < layer_types->size(); ++i) {
      if ((*layer_types)[i] != "full_attention") {
        fields.Refuse("layer_types[" + std::to_string(i) + "]", (*layer_types)[i],
                      "only \"full_attention\" is supported");
      }
    }
  }
  if (!family.window_has_switch) {
    for (const std::string_view name : {"sliding_window", "use_sliding_window"}) {
      const Json* value = fields.FindNonNull(name);
      if (value != nullptr && *value != false) {
        fields.Refuse(name, *value, "sliding windows are not supported");
      }
    }
    return;
  }
  const Json* window = fields.Find("sliding_window");
  const bool has_window = window == nullptr || !window->is_null();  // The default is a window.
  const bool has_layers =
      layer_types == nullptr && fields.OptionalInteger("max_window_layers", {0, kLayers.most})
                                        .value_or(family.max_window_layers) < layers;
  if (fields.Bool("use_sliding_window", false) && has_window && has_layers) {
    fields.Refuse("use_sliding_window", true, "sliding windows are not supported");
  }
}

/// Checks that `rope_scaling` or `rope_parameters` asks for plain RoPE. Returns its rope_theta.
std::optional<double> RopeThetaOf(const Fields& fields, std::string_view name,
                                  const std::string& origin) {
  const Json* rope = fields.FindNonNull(name);
  if (rope == nullptr) {
    return std::nullopt;
  }
  if (!rope->is_object()) {
    fields.Refuse(name, *rope, "it must be an object or null");
  }
  const Fields rope_fields(*rope, origin, std::string(name) + ".");
  // The type is checked first: if it is not the default, the other fields are not at fault.
  for (const std::string_view key : {"rope_type", "type"}) {
    const Json* type = rope_fields.Find(key);
    if (type != nullptr && *type != "default") {
      rope_fields.Refuse(key, *type, "only \"default\" is supported");
    }
  }
  for (const auto& [key, value] : rope->items()) {
    if (key == "rope_type" || key == "type" || key == "rope_theta") {
      continue;
    }
    if (key != "partial_rotary_factor" || value != 1) {
      rope_fields.Refuse(key, value, "not supported");
    }
  }
  return rope_fields.Find("rope_theta") == nullptr
             ? std::nullopt
             : std::optional(rope_fields.PositiveNumber("rope_theta", 0));
}

/// transformers 4 has `rope_theta` and `rope_scaling`; transformers 5 has both in
/// `rope_parameters`.
double RopeTheta(const Fields& fields, const Family& family, const std::string& origin) {
  std::optional<double> theta;
  if (fields.Find("rope_theta") != nullptr) {
    theta = fields.PositiveNumber("rope_theta", 0);
  }
  for (const std::string_view name : {"rope_scaling", "rope_parameters"}) {
    const std::optional<double> inner = RopeThetaOf(fields, name, origin);
    if (inner && theta && *inner != *theta) {
      fields.Fail(std::string(name) + ".rope_theta contradicts the rope_theta elsewhere: " +
                  Json(*inner).dump() + " and " + Json(*theta).dump());
    }
    theta = inner ? inner : theta;
  }
  return theta.value_or(family.rope_theta);
}

bool ReadBias(const Fields& fields, std::string_view name, Bias bias) {
  if (bias == Bias::kAsConfigured) {
    return fields.Bool(name, false);
  }
  const Json* value = fields.FindNonNull(name);
  if (value != nullptr && *value != false) {
    fields.Refuse(name, *value, "this architecture has no such biases");
  }
  return false;
}

std::vector<TokenId> ReadTokenIds(const Fields& fields, std::string_view name,
                                  std::int64_t vocab_size) {
  const Json* value = fields.FindNonNull(name);
  if (value == nullptr) {
    return {};
  }
  const Bounds ids{0, vocab_size - 1};
  if (!value->is_array()) {
    return {static_cast<TokenId>(fields.IntegerOf(name, *value, ids))};
  }
  std::vector<TokenId> tokens;
  for (const Json& id : *value) {
    const std::string element = std::string(name) + "[" + std::to_string(tokens.size()) + "]";
    tokens.push_back(static_cast<TokenId>(fields.IntegerOf(element, id, ids)));
  }
  return tokens;
}

std::optional<TokenId> ReadTokenId(const Fields& fields, std::string_view name,
                                   std::int64_t vocab_size) {
  const Json* value = fields.FindNonNull(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  return static_cast<TokenId>(fields.IntegerOf(name, *value, {0, vocab_size - 1}));
}

/// transformers 5 writes `dtype`, 4 `torch_dtype`.
std::string ReadDtype(const Fields& fields) {
  for (const std::string_view name : {"dtype", "torch_dtype"}) {
    const Json* value = fields.FindNonNull(name);
    if (value == nullptr) {
      continue;
    }
    if (!value->is_string()) {
      fields.Refuse(name, *value, "it must be a name");
    }
    return OneLine(value->get_ref<const std::string&>(), 80);
  }
  return {};
}

void ReadHeads(const Fields& fields, const Family& family, ModelConfig& config) {
  config.num_attention_heads = fields.Integer("num_attention_heads", kHeads);

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
                ": it must be even, because RoPE rotates pairs");
  }
}

/// Throws StartupError, which names `where`, if the text is not a JSON object.
Json ParseObject(std::string_view json_text, const std::string& where) {
  // The parser would end the text at a zero byte.
  if (const std::size_t zero = json_text.find('\0'); zero != std::string_view::npos) {
    throw StartupError(where + ": not valid JSON at byte " + std::to_string(zero + 1));
  }
  Json root;
  try {
    root = Json::parse(json_text);
  } catch (const Json::parse_error& error) {
    throw StartupError(where + ": not valid JSON at byte " + std::to_string(error.byte));
  }
  if (!root.is_object()) {
    throw StartupError(where + ": not a JSON object");
  }
  return root;
}

std::string ReadConfigFile(const std::filesystem::path& path) {
  const std::string origin = OneLine(path.string(), 4096);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file.tellg();
  if (!file || size < 0) {
    throw StartupError(origin + ": cannot be read");
  }
  if (size > kMaxConfigBytes) {
    throw StartupError(origin + ": " + std::to_string(size) + " bytes is more than the limit of " +
                       std::to_string(kMaxConfigBytes));
  }
  std::string text(static_cast<std::size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size)) {
    throw StartupError(origin + ": cannot be read");
  }
  return text;
}

/// A token ends a completion if either of the two files says so.
void AddGenerationConfig(const std::filesystem::path& path, ModelConfig& config) {
  const std::string where = OneLine(path.string(), 4096);
  const Json root = ParseObject(ReadConfigFile(path), where);
  const Fields fields(root, where, "");
  for (const TokenId id : ReadTokenIds(fields, "eos_token_id", config.vocab_size)) {
    if (std::find(config.eos_token_ids.begin(), config.eos_token_ids.end(), id) ==
        config.eos_token_ids.end()) {
      config.eos_token_ids.push_back(id);
    }
  }
}

}  // namespace

ModelConfig ParseModelConfig(std::string_view json_text, const std::string& origin) {
  const std::string where = OneLine(origin, 4096);
  const Json root = ParseObject(json_text, where);
  const Fields fields(root, where, "");
  const Family& family = FindFamily(fields);
  RefuseUnsupportedOptions(fields);

  ModelConfig config;
  config.architecture = family.architecture;
  config.model_type = family.model_type;
  config.hidden_size = fields.Integer("hidden_size", kHiddenSize);
  const std::int64_t layers = fields.Integer("num_hidden_layers", kLayers);
  config.intermediate_size = fields.Integer("intermediate_size", kIntermediateSize);
  config.vocab_size = fields.Integer("vocab_size", kVocabSize);
  config.max_position_embeddings = fields.OptionalInteger("max_position_embeddings", kPositions)
                                       .value_or(family.max_position_embeddings);
  ReadHeads(fields, family, config);
  RefuseWindows(fields, family, layers);

  config.rms_norm_eps = fields.PositiveNumber("rms_norm_eps", family.rms_norm_eps);
  config.rope_tables = {RopeConfig{.theta = RopeTheta(fields, family, where)}};
  config.attention_bias = ReadBias(fields, "attention_bias", family.qkv_bias);
  config.attention_output_bias = ReadBias(fields, "attention_bias", family.output_bias);
  config.mlp_bias = ReadBias(fields, "mlp_bias", family.mlp_bias);
  config.layers.assign(static_cast<std::size_t>(layers), LayerConfig{.qk_norm = family.qk_norm});
  config.tie_word_embeddings = fields.Bool("tie_word_embeddings", family.tie_word_embeddings);

  config.dtype = ReadDtype(fields);
  config.bos_token_id = ReadTokenId(fields, "bos_token_id", config.vocab_size);
  config.eos_token_ids = ReadTokenIds(fields, "eos_token_id", config.vocab_size);
  return config;
}

ModelConfig LoadModelConfig(const std::filesystem::path& model_dir) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(model_dir, ignored)) {
    throw StartupError(OneLine(model_dir.string(), 4096) + " is not a directory");
  }
  const std::filesystem::path path = model_dir / "config.json";
  const std::string origin = OneLine(path.string(), 4096);
  if (!std::filesystem::is_regular_file(path, ignored)) {
    throw StartupError(origin + ": there is no such file");
  }
  ModelConfig config = ParseModelConfig(ReadConfigFile(path), origin);
  const std::filesystem::path generation_path = model_dir / "generation_config.json";
  if (std::filesystem::exists(generation_path, ignored)) {
    AddGenerationConfig(generation_path, config);
  }
  return config;
}

}  // namespace scorecast::proto
