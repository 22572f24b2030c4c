#include "coordinator/text/files/sentence_bert_config.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;

/// The first of the files that exists counts, as in sentence-transformers.
constexpr std::array<std::string_view, 7> kSentenceFiles = {
    "sentence_bert_config.json",       "sentence_roberta_config.json",
    "sentence_distilbert_config.json", "sentence_camembert_config.json",
    "sentence_albert_config.json",     "sentence_xlm-roberta_config.json",
    "sentence_xlnet_config.json"};

/// A positive number of tokens. transformers writes 1e30 for "unlimited", which no integer holds.
std::int64_t ReadLength(const JsonCursor& length) {
  if (!length.value().is_number()) {
    length.Fail("not a number");
  }
  const double value = length.value().get<double>();
  if (value < 1) {
    length.Fail("must be at least 1");
  }
  constexpr double kMost = 1e15;
  return static_cast<std::int64_t>(std::min(value, kMost));
}

bool IsLowercase(const json& step) {
  return step.is_object() && step.contains("type") && step["type"] == "Lowercase";
}

}  // namespace

SentenceBertConfig LoadSentenceBertConfig(const std::filesystem::path& model_dir) {
  SentenceBertConfig config;
  for (const std::string_view name : kSentenceFiles) {
    const std::filesystem::path file = model_dir / name;
    if (!ModelFileExists(file)) {
      continue;
    }
    config.origin = file.string();
    const json document = ParseJsonFile(ReadModelFile(file), config.origin);
    const JsonCursor root(document, config.origin);
    if (const std::optional<JsonCursor> length = root.Find("max_seq_length")) {
      config.max_seq_length = ReadLength(*length);
    }
    config.do_lower_case = root.Flag("do_lower_case", false);
    break;
  }
  return config;
}

void PutLowercaseFirst(json& document) {
  if (!document.is_object()) {
    return;
  }
  json& normalizer = document["normalizer"];
  if (IsLowercase(normalizer)) {
    return;
  }
  json steps = json::array();
  const bool is_sequence = normalizer.is_object() && normalizer.contains("type") &&
                           normalizer["type"] == "Sequence" && normalizer.contains("normalizers") &&
                           normalizer["normalizers"].is_array();
  if (is_sequence) {
    steps = normalizer["normalizers"];
  } else if (!normalizer.is_null()) {
    steps.push_back(normalizer);
  }
  if (std::ranges::none_of(steps, IsLowercase)) {
    steps.insert(steps.begin(), json{{"type", "Lowercase"}});
    normalizer = {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
  }
}

std::int64_t ReadTokenLimit(const std::filesystem::path& model_dir, std::int64_t usable_positions) {
  std::optional<std::int64_t> limit = LoadSentenceBertConfig(model_dir).max_seq_length;
  const std::filesystem::path file = model_dir / "tokenizer_config.json";
  if (!limit && ModelFileExists(file)) {
    const json document = ParseJsonFile(ReadModelFile(file), file.string());
    if (const auto length = JsonCursor(document, file.string()).Find("model_max_length")) {
      limit = ReadLength(*length);
    }
  }
  return std::min(limit.value_or(usable_positions), usable_positions);
}

}  // namespace scorecast::coordinator
