#include "tests/reference/golden_cases.h"

#include <fstream>
#include <stdexcept>

#include <nlohmann/json.hpp>

namespace scorecast::reference {
namespace {

using nlohmann::json;

json ReadGolden(const std::filesystem::path& model_dir) {
  std::ifstream file(model_dir / "golden.json");
  if (!file) {
    throw std::runtime_error("cannot read " + (model_dir / "golden.json").string());
  }
  return json::parse(file);
}

template <typename T>
void Get(const json& from, const char* field, T& to) {
  from.at(field).get_to(to);
}

template <typename T>
void GetIfThere(const json& from, const char* field, T& to) {
  if (from.contains(field) && !from.at(field).is_null()) {
    from.at(field).get_to(to);
  }
}

GoldenRows ToGoldenRows(const json& from, std::vector<TokenId> prefix) {
  GoldenRows rows;
  rows.prefix = std::move(prefix);
  Get(from, "label_logprobs", rows.label_logprobs);
  Get(from, "top_logprobs", rows.top_logprobs);
  return rows;
}

MultiItemCase ToMultiItemCase(const json& from) {
  MultiItemCase result;
  Get(from, "query", result.query);
  Get(from, "items", result.items);
  Get(from, "label_token_ids", result.label_token_ids);
  Get(from, "delimiter", result.delimiter);
  std::vector<TokenId> prefix = result.query;
  result.hidden = ToGoldenRows(from.at("hidden"), prefix);
  prefix.push_back(result.delimiter);
  result.first = ToGoldenRows(from.at("first"), prefix);
  return result;
}

ChunkAwareCase ToChunkAwareCase(const json& from) {
  ChunkAwareCase result;
  Get(from, "system", result.system);
  Get(from, "chunks", result.chunks);
  Get(from, "question", result.question);
  const auto strategy = from.at("strategy").get<std::string>();
  if (strategy != "shared" && strategy != "offset") {
    throw std::runtime_error("unknown strategy " + strategy);
  }
  result.strategy = strategy == "shared" ? PositionStrategy::kShared : PositionStrategy::kOffset;
  GetIfThere(from, "groups", result.groups);
  GetIfThere(from, "temperature", result.temperature);
  GetIfThere(from, "scale", result.scale);
  Get(from, "positions", result.positions);
  Get(from, "label_token_ids", result.label_token_ids);
  Get(from, "label_logprobs", result.label_logprobs);
  Get(from, "top_logprobs", result.top_logprobs);
  Get(from, "greedy", result.greedy);
  GetIfThere(from, "smallest_greedy_margin", result.smallest_greedy_margin);
  return result;
}

TextCase ToTextCase(const json& from) {
  TextCase result;
  Get(from, "query", result.query);
  Get(from, "items", result.items);
  Get(from, "label_token_ids", result.label_token_ids);
  GetIfThere(from, "item_first", result.item_first);
  GetIfThere(from, "query_ids", result.query_ids);
  GetIfThere(from, "items_ids", result.items_ids);
  GetIfThere(from, "prompts_ids", result.prompts_ids);
  Get(from, "softmax", result.softmax);
  Get(from, "probabilities", result.probabilities);
  return result;
}

}  // namespace

std::vector<std::vector<std::vector<TokenId>>> GroupsOf(const ChunkAwareCase& golden) {
  std::vector<std::vector<std::vector<TokenId>>> groups;
  auto chunk = golden.chunks.begin();
  for (const std::size_t size :
       golden.groups.empty() ? std::vector<std::size_t>(golden.chunks.size(), 1) : golden.groups) {
    const auto end = chunk + static_cast<std::ptrdiff_t>(size);
    groups.emplace_back(chunk, end);
    chunk = end;
  }
  return groups;
}

proto::BlockWeighting WeightingOf(const ChunkAwareCase& golden) {
  return {static_cast<float>(golden.temperature), static_cast<float>(golden.scale)};
}

FamilyGolden LoadFamilyGolden(const std::filesystem::path& model_dir) {
  const json golden = ReadGolden(model_dir);
  FamilyGolden result;
  for (const json& one : golden.at("multi_item")) {
    result.multi_item.push_back(ToMultiItemCase(one));
  }
  for (const json& one : golden.at("chunk_aware")) {
    result.chunk_aware.push_back(ToChunkAwareCase(one));
  }
  return result;
}

std::vector<ClassifierCase> LoadClassifierGolden(const std::filesystem::path& model_dir) {
  const json golden = ReadGolden(model_dir);
  std::vector<ClassifierCase> cases;
  for (const json& one : golden.at("classifier")) {
    ClassifierCase& result = cases.emplace_back();
    Get(one, "query", result.query);
    Get(one, "items", result.items);
    Get(one, "class_logits", result.class_logits);
  }
  return cases;
}

std::vector<EmbeddingCase> LoadEmbeddingGolden(const std::filesystem::path& model_dir) {
  const json golden = ReadGolden(model_dir);
  std::vector<EmbeddingCase> cases;
  for (const json& from : golden.at("embedding")) {
    EmbeddingCase& to = cases.emplace_back();
    Get(from, "ids", to.ids);
    GetIfThere(from, "token_type_ids", to.types);
    if (from.contains("pooled")) {
      const json& pooled = from.at("pooled");
      Get(pooled, "cls", to.cls);
      Get(pooled, "max", to.max);
      Get(pooled, "mean", to.mean);
      Get(pooled, "last", to.last);
    }
    Get(from, "embedding", to.embedding);
  }
  return cases;
}

std::vector<TextClassifierCase> LoadTextClassifierGolden(const std::filesystem::path& model_dir) {
  const json golden = ReadGolden(model_dir);
  std::vector<TextClassifierCase> cases;
  for (const json& from : golden.at("classifier")) {
    TextClassifierCase& to = cases.emplace_back();
    Get(from, "ids", to.ids);
    GetIfThere(from, "token_type_ids", to.types);
    Get(from, "class_logits", to.class_logits);
  }
  return cases;
}

HiddenCase LoadHiddenGolden(const std::filesystem::path& model_dir) {
  const json golden = ReadGolden(model_dir);
  const json& from = golden.at("hidden");
  HiddenCase result;
  Get(from, "ids", result.ids);
  GetIfThere(from, "token_type_ids", result.types);
  Get(from, "last_hidden", result.last_hidden);
  return result;
}

TextGolden LoadTextGolden(const std::filesystem::path& model_dir) {
  const json golden = ReadGolden(model_dir);
  TextGolden result;
  Get(golden, "delimiter", result.delimiter);
  Get(golden, "delimiter_text", result.delimiter_text);
  for (const json& one : golden.at("multi_item")) {
    result.multi_item.push_back(ToTextCase(one));
  }
  for (const json& one : golden.at("one_by_one")) {
    result.one_by_one.push_back(ToTextCase(one));
  }
  return result;
}

}  // namespace scorecast::reference
