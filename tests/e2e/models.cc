#include "tests/e2e/models.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <stdexcept>

#include <nlohmann/json.hpp>

#include "tests/e2e/scorecast_program.h"
#include "tests/reference/directories.h"
#include "tests/reference/log_probabilities.h"
#include "tests/reference/packed_layout.h"
#include "tests/reference/random_checkpoint.h"

namespace scorecast::testing {
namespace {

using nlohmann::json;

std::filesystem::path TokenizerDirectory(const std::string& tokenizer) {
  return std::filesystem::path(reference::kTestsDirectory) / "coordinator/text/data" / tokenizer;
}

reference::RandomCheckpoint Checkpoint() {
  reference::RandomCheckpoint checkpoint;
  checkpoint.config = reference::TinyConfig("llama");
  checkpoint.config.vocab_size = kModelVocabSize;
  checkpoint.config.max_position_embeddings = kModelPositions;
  checkpoint.seed = 20;
  return checkpoint;
}

std::filesystem::path Make(const reference::RandomCheckpoint& checkpoint,
                           const std::string& tokenizer) {
  std::filesystem::path dir = NewDirectory();
  reference::WriteRandomCheckpoint(dir, checkpoint);
  if (!tokenizer.empty()) {
    for (const char* name : {"tokenizer.json", "tokenizer_config.json", "tokenizer.model"}) {
      const std::filesystem::path file = TokenizerDirectory(tokenizer) / name;
      if (std::filesystem::exists(file)) {
        std::filesystem::copy_file(file, dir / name);
      }
    }
  }
  return dir;
}

}  // namespace

std::filesystem::path MakeModel(const std::string& tokenizer, std::int64_t positions,
                                std::int64_t vocab_size) {
  reference::RandomCheckpoint checkpoint = Checkpoint();
  checkpoint.config.vocab_size = vocab_size;
  checkpoint.config.max_position_embeddings = positions;
  return Make(checkpoint, tokenizer);
}

std::filesystem::path MakeClassifier(std::int64_t classes, const std::string& tokenizer) {
  reference::RandomCheckpoint checkpoint = Checkpoint();
  checkpoint.config.num_labels = classes;
  checkpoint.head_bias = true;
  return Make(checkpoint, tokenizer);
}

std::filesystem::path MakeModelWithBrokenToken(TokenId token) {
  std::filesystem::path dir = MakeModel("");
  std::string bytes = ReadFile(dir / "model.safetensors");
  std::uint64_t header_size = 0;
  std::memcpy(&header_size, bytes.data(), sizeof(header_size));
  const json header = json::parse(bytes.substr(sizeof(header_size), header_size));
  const json& tensor = header.at("model.embed_tokens.weight");
  const auto hidden_size = tensor.at("shape")[1].get<std::size_t>();
  const std::size_t begin = sizeof(header_size) + header_size +
                            tensor.at("data_offsets")[0].get<std::size_t>() +
                            static_cast<std::size_t>(token) * hidden_size * sizeof(float);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (std::size_t i = 0; i < hidden_size; ++i) {
    std::memcpy(bytes.data() + begin + i * sizeof(float), &nan, sizeof(nan));
  }
  WriteFile(dir / "model.safetensors", bytes);
  return dir;
}

std::vector<TextVector> TextVectors(const std::string& tokenizer) {
  std::vector<TextVector> vectors;
  for (const std::string& line :
       LinesOf(ReadFile(TokenizerDirectory(tokenizer) / "vectors.jsonl"))) {
    const json vector = json::parse(line);
    vectors.push_back({vector.at("text"), vector.at("ids"), vector.at("ids_special")});
  }
  return vectors;
}

TextVector VectorOf(const std::string& tokenizer, const std::string& text) {
  for (TextVector& vector : TextVectors(tokenizer)) {
    if (vector.text == text) {
      return std::move(vector);
    }
  }
  throw std::out_of_range("no vector for " + text);
}

std::vector<std::vector<double>> OracleRows(const reference::ReferenceModel& model,
                                            const std::vector<TokenId>& prefix,
                                            const std::vector<std::vector<TokenId>>& items) {
  const reference::PackedLayout layout = reference::LayOut(prefix, items);
  std::vector<std::int32_t> rows(
      layout.last_rows.begin(),
      layout.last_rows.begin() + 1 + static_cast<std::ptrdiff_t>(items.size()));
  std::vector<std::vector<double>> result;
  for (const std::vector<double>& logits : model.Logits(layout.tokens, layout.segments, rows)) {
    result.push_back(reference::LogSoftmax(logits));
  }
  return result;
}

std::filesystem::path FamilyDirectory(const std::string& family) {
  return std::filesystem::path(reference::kTestsDirectory) / "golden/families" / family;
}

std::filesystem::path DemoModelDirectory() {
  return std::filesystem::path(reference::kTestsDirectory) / "demo_model/model";
}

}  // namespace scorecast::testing
