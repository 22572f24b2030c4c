#include "proto/model/generation_config.h"

#include <cstdio>
#include <string_view>

#include <nlohmann/json.hpp>

#include "proto/base/one_line.h"
#include "proto/base/regular_file.h"
#include "proto/model/config_fields.h"

namespace scorecast::proto {
namespace {

constexpr std::int64_t kMaxGenerationConfigBytes = 16 << 20;
constexpr Bounds kTokens{1, 1 << 30};
constexpr Bounds kBestTokens{-1, 1 << 30};

/// A number of `range`, from `least` to `most`. If `least` is 0, that is only in the range if
/// `takes_zero`.
std::optional<double> NumberWithin(const Fields& fields, std::string_view name, double most,
                                   bool takes_zero, const std::string& range) {
  const Json* const value = fields.FindNonNull(name);
  if (value == nullptr) {
    return std::nullopt;
  }
  const double number = value->is_number() ? value->get<double>() : -1;
  if (!(number <= most && (takes_zero ? number >= 0 : number > 0))) {
    fields.Refuse(name, *value, "it must be a number " + range);
  }
  return number;
}

std::optional<std::int64_t> IntegerWithin(const Fields& fields, std::string_view name,
                                          Bounds bounds) {
  const Json* const value = fields.FindNonNull(name);
  return value == nullptr ? std::nullopt : std::optional(fields.IntegerOf(name, *value, bounds));
}

}  // namespace

GenerationConfig LoadGenerationConfig(const std::filesystem::path& model_dir) {
  const std::filesystem::path path = model_dir / "generation_config.json";
  GenerationConfig config;
  if (!FileExists(path)) {
    return config;
  }
  const std::string where = OneLine(path.string(), 4096);
  const Json root = ParseObject(ReadRegularFile(path, kMaxGenerationConfigBytes), where);
  const Fields fields(root, where, "");
  config.temperature = NumberWithin(fields, "temperature", 100, true, "from 0 to 100");
  config.top_p = NumberWithin(fields, "top_p", 1, false, "above 0 and at most 1");
  config.top_k = IntegerWithin(fields, "top_k", kBestTokens);
  config.min_p = NumberWithin(fields, "min_p", 1, true, "from 0 to 1");
  config.repetition_penalty =
      NumberWithin(fields, "repetition_penalty", 100, false, "above 0 and at most 100");
  config.max_new_tokens = IntegerWithin(fields, "max_new_tokens", kTokens);
  return config;
}

std::string Describe(const GenerationConfig& config) {
  std::string text;
  const auto add = [&](std::string_view name, const auto& value) {
    if (value) {
      char number[32];
      std::snprintf(number, sizeof(number), "%.6g", static_cast<double>(*value));
      text += (text.empty() ? "" : ", ") + std::string(name) + " " + number;
    }
  };
  add("temperature", config.temperature);
  add("top_p", config.top_p);
  add("top_k", config.top_k);
  add("min_p", config.min_p);
  add("repetition_penalty", config.repetition_penalty);
  add("max_new_tokens", config.max_new_tokens);
  return text;
}

}  // namespace scorecast::proto
