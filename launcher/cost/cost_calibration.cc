#include "launcher/cost/cost_calibration.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"

namespace scorecast::launcher {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

/// The value of the member "scorecast_calibration".
constexpr int kFormat = 1;
constexpr std::int64_t kMostBytes = std::int64_t{1} << 20;

/// Reads members of one object. Each fault names the member.
class Members {
 public:
  /// `path` is what the object's members are called by, with a dot at the end unless it is empty.
  Members(const json& object, std::string origin, std::string path = "")
      : object_(object), origin_(std::move(origin)), path_(std::move(path)) {
    if (!object.is_object()) {
      Fail(path_.empty() ? "no JSON object" : path_.substr(0, path_.size() - 1) + " is no object");
    }
  }

  Members Object(const char* name) const { return {Get(name), origin_, Path(name) + "."}; }
  const json& Array(const char* name) const {
    const json& value = Get(name);
    if (!value.is_array() || value.empty()) {
      Fail(Path(name) + " is not a list of passes");
    }
    return value;
  }
  std::string Text(const char* name) const {
    const json& value = Get(name);
    if (!value.is_string()) {
      Fail(Path(name) + " is no text");
    }
    return value.get<std::string>();
  }
  bool Bool(const char* name) const {
    const json& value = Get(name);
    if (!value.is_boolean()) {
      Fail(Path(name) + " is neither true nor false");
    }
    return value.get<bool>();
  }
  std::int64_t Integer(const char* name, std::int64_t least, std::int64_t most) const {
    const json& value = Get(name);
    if (!value.is_number_integer() || value < least || value > most) {
      Fail(Path(name) + " is no integer from " + std::to_string(least) + " to " +
           std::to_string(most));
    }
    return value.get<std::int64_t>();
  }
  int Int(const char* name, int most) const { return static_cast<int>(Integer(name, 1, most)); }
  double Seconds(const char* name) const {
    const json& value = Get(name);
    if (!value.is_number() || !std::isfinite(value.get<double>()) || value < 0) {
      Fail(Path(name) + " is no number of seconds");
    }
    return value.get<double>();
  }
  shard::Precision Precision(const char* name) const {
    const auto precision = shard::PrecisionFromName(Text(name));
    if (!precision) {
      Fail(Path(name) + " is no precision");
    }
    return *precision;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw proto::StartupError(origin_ + ": not a calibration: " + what);
  }
  const json& Get(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) {
      Fail(Path(name) + " is missing");
    }
    return *found;
  }

  std::string Path(const char* name) const { return path_ + name; }

  const json& object_;
  std::string origin_;
  std::string path_;
};

constexpr std::int64_t kMostSize = std::int64_t{1} << 30;

void ReadShape(const Members& model, proto::ModelConfig& shape) {
  shape.hidden_size = model.Integer("hidden_size", 1, kMostSize);
  shape.layers.resize(static_cast<std::size_t>(model.Integer("layers", 1, 100'000)));
  shape.num_attention_heads = model.Integer("heads", 1, kMostSize);
  shape.num_key_value_heads = model.Integer("kv_heads", 1, shape.num_attention_heads);
  shape.head_dim = model.Integer("head_dim", 1, kMostSize);
  shape.intermediate_size = model.Integer("intermediate_size", 1, kMostSize);
  shape.vocab_size = model.Integer("outputs", 1, kMostSize);
  shape.gated_feedforward = model.Bool("gated");
}

MeasuredPass PassFrom(const Members& pass) {
  constexpr std::int64_t kMost = std::int64_t{1} << 50;
  MeasuredPass measured;
  measured.work.rows = pass.Integer("rows", 1, kMost);
  measured.work.keys = pass.Integer("keys", 1, kMost);
  measured.work.reads = pass.Integer("reads", 0, kMost);
  measured.seconds = pass.Seconds("seconds");
  measured.products = pass.Seconds("products");
  measured.attention = pass.Seconds("attention");
  measured.other = pass.Seconds("other");
  measured.communication = pass.Seconds("communication");
  return measured;
}

}  // namespace

std::string CostCalibration::ToJson() const {
  ordered_json object;
  object["scorecast_calibration"] = kFormat;
  object["version"] = version;
  object["kernels"] = kernels;
  object["dtype"] = shard::Name(weights.precisions.layers);
  object["lm_head_dtype"] = shard::Name(weights.precisions.lm_head);
  object["layer_backend"] = layer_backend;
  object["lm_head_backend"] = lm_head_backend;
  object["layer_weight_bytes"] = weights.layer_size;
  object["lm_head_weight_bytes"] = weights.lm_head_size;
  object["layout"] = {
      {"hosts", layout.hosts}, {"ranks_a_host", layout.ranks_a_host}, {"threads", layout.threads}};
  object["model"] = {
      {"hidden_size", shape.hidden_size},   {"layers", shape.num_hidden_layers()},
      {"heads", shape.num_attention_heads}, {"kv_heads", shape.num_key_value_heads},
      {"head_dim", shape.head_dim},         {"intermediate_size", shape.intermediate_size},
      {"outputs", shape.output_size()},     {"gated", shape.gated_feedforward}};
  for (const MeasuredPass& pass : passes) {
    object["passes"].push_back({{"rows", pass.work.rows},
                                {"keys", pass.work.keys},
                                {"reads", pass.work.reads},
                                {"seconds", pass.seconds},
                                {"products", pass.products},
                                {"attention", pass.attention},
                                {"other", pass.other},
                                {"communication", pass.communication}});
  }
  return object.dump(1) + "\n";
}

CostCalibration CostCalibration::FromJson(std::string_view text, const std::string& origin) {
  const json parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const Members all(parsed, origin);
  all.Integer("scorecast_calibration", kFormat, kFormat);
  CostCalibration calibration;
  calibration.version = all.Text("version");
  calibration.kernels = all.Text("kernels");
  calibration.layer_backend = all.Text("layer_backend");
  calibration.lm_head_backend = all.Text("lm_head_backend");
  calibration.weights = {
      .precisions = {.layers = all.Precision("dtype"), .lm_head = all.Precision("lm_head_dtype")},
      .layer_size = all.Integer("layer_weight_bytes", 1, 4),
      .lm_head_size = all.Integer("lm_head_weight_bytes", 1, 4)};
  const Members layout = all.Object("layout");
  constexpr int kMostRanks = 65536;
  calibration.layout = {.hosts = layout.Int("hosts", kMostRanks),
                        .ranks_a_host = layout.Int("ranks_a_host", kMostRanks),
                        .threads = layout.Int("threads", kMostRanks)};
  ReadShape(all.Object("model"), calibration.shape);
  if (std::int64_t{calibration.layout.hosts} * calibration.layout.ranks_a_host >
      calibration.shape.num_attention_heads) {
    throw proto::StartupError(origin + ": not a calibration: it has more ranks than heads");
  }
  for (const json& pass : all.Array("passes")) {
    calibration.passes.push_back(PassFrom(Members(pass, origin, "passes.")));
  }
  return calibration;
}

CostCalibration ReadCostCalibration(const std::filesystem::path& path) {
  return CostCalibration::FromJson(proto::ReadRegularFile(path, kMostBytes),
                                   proto::OneLinePath(path.string()));
}

}  // namespace scorecast::launcher
