#include "proto/model/config_layers.h"

#include <cstddef>
#include <optional>
#include <string>

#include <nlohmann/json.hpp>

#include "proto/base/count.h"

namespace scorecast::proto {
namespace {

constexpr Bounds kWindowLayers{0, 1 << 12};
constexpr Bounds kPeriod{1, 1 << 12};

/// The window of the layers that have one; nullopt if none has.
std::optional<std::int64_t> ReadWindow(const Fields& fields, const WindowRule& rule,
                                       bool bidirectional) {
  if (rule.layers == WindowLayers::kNone) {
    return std::nullopt;
  }
  if (rule.layers == WindowLayers::kSwitched && !fields.Bool("use_sliding_window", false)) {
    return std::nullopt;
  }
  const Json* value = fields.Find(rule.field);
  if (value != nullptr && value->is_null()) {
    return std::nullopt;
  }
  const std::int64_t window =
      value == nullptr ? rule.sliding_window : fields.IntegerOf(rule.field, *value, kPositions);
  // A row sees the positions that are less than the window away.
  return bidirectional ? window / 2 + 1 : window;
}

std::int64_t ReadPeriod(const Fields& fields, const WindowRule& rule) {
  std::optional<std::int64_t> period;
  for (const std::string_view name : rule.period_fields) {
    const Json* value = fields.FindNonNull(name);
    if (value == nullptr) {
      continue;
    }
    const std::int64_t read = fields.IntegerOf(name, *value, kPeriod);
    if (period && read != *period) {
      fields.Refuse(name, *value,
                    "it contradicts " + std::string(rule.period_fields.front()) + ", which is " +
                        std::to_string(*period));
    }
    period = read;
  }
  return period.value_or(rule.period);
}

/// Whether each layer has the window, by the family's rule.
std::vector<bool> LayersByRule(const Fields& fields, const WindowRule& rule, bool has_window,
                               std::size_t num_layers) {
  std::vector<bool> sliding(num_layers, false);
  switch (rule.layers) {
    case WindowLayers::kNone:
      break;
    case WindowLayers::kAll:
      sliding.assign(num_layers, has_window);
      break;
    case WindowLayers::kSwitched: {
      const std::int64_t first = fields.OptionalInteger("max_window_layers", kWindowLayers)
                                     .value_or(rule.max_window_layers);
      for (std::size_t i = 0; i < num_layers; ++i) {
        sliding[i] = has_window && static_cast<std::int64_t>(i) >= first;
      }
      break;
    }
    case WindowLayers::kPeriodic:
    case WindowLayers::kPeriodicFromFirst: {
      const std::int64_t period = ReadPeriod(fields, rule);
      const std::int64_t first = rule.layers == WindowLayers::kPeriodic ? 1 : 0;
      for (std::size_t i = 0; i < num_layers; ++i) {
        sliding[i] = (static_cast<std::int64_t>(i) + first) % period != 0;
      }
      break;
    }
  }
  return sliding;
}

/// Whether each layer has the window, by `layer_types`.
std::vector<bool> LayersByType(const Fields& fields, const WindowRule& rule, bool has_window,
                               const Json& layer_types, std::size_t num_layers) {
  if (!layer_types.is_array() || layer_types.size() != num_layers) {
    fields.Refuse("layer_types", layer_types,
                  "it must be a list of num_hidden_layers = " + Count(num_layers, "name"));
  }
  std::vector<bool> sliding;
  for (const Json& type : layer_types) {
    const std::string name = "layer_types[" + std::to_string(sliding.size()) + "]";
    if (type != "full_attention" && type != "sliding_attention") {
      fields.Refuse(name, type,
                    "supported are \"full_attention\" and, with a sliding window, "
                    "\"sliding_attention\"");
    }
    sliding.push_back(type == "sliding_attention");
    if (sliding.back() && !has_window) {
      fields.Refuse(name, type, "the model has no sliding window");
    }
    // transformers ignores layer_types in this case, so it would be unclear what is meant.
    if (rule.layers == WindowLayers::kAll && sliding.back() != has_window) {
      fields.Refuse(name, type, "in this family sliding_window is for all layers");
    }
  }
  return sliding;
}

}  // namespace

std::vector<LayerConfig> ReadLayers(const Fields& fields, const Family& family,
                                    std::int64_t num_layers, bool bidirectional) {
  const auto count = static_cast<std::size_t>(num_layers);
  const std::optional<std::int64_t> window = ReadWindow(fields, family.window, bidirectional);
  const Json* layer_types = fields.FindNonNull("layer_types");
  const std::vector<bool> sliding =
      layer_types == nullptr
          ? LayersByRule(fields, family.window, window.has_value(), count)
          : LayersByType(fields, family.window, window.has_value(), *layer_types, count);

  std::vector<LayerConfig> layers(count);
  for (std::size_t i = 0; i < count; ++i) {
    layers[i] = {.rope_table = sliding[i] && family.rope_local_theta ? 1U : 0U,
                 .sliding_window = sliding[i] ? window : std::nullopt,
                 .qk_norm = family.qk_norm,
                 .post_attention_norm = family.post_norms,
                 .post_feedforward_norm = family.post_norms};
    if (sliding[i] && !window) {
      fields.Refuse(family.window.field, nullptr, "layer " + std::to_string(i) + " has a window");
    }
  }
  return layers;
}

}  // namespace scorecast::proto
