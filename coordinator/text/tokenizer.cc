#include "coordinator/text/tokenizer.h"

#include <nlohmann/json.hpp>

#include "coordinator/text/json_cursor.h"
#include "coordinator/text/model_file.h"
#include "coordinator/text/sentencepiece_tokenizer.h"
#include "coordinator/text/tokenizer_config.h"
#include "coordinator/text/tokenizer_json.h"

namespace scorecast::coordinator {

std::vector<TokenId> Tokenizer::EncodeWithAdded(std::string_view text,
                                                const EncodeOptions& options) const {
  std::vector<TokenId> ids = added_prefix();
  const std::vector<TokenId> encoded = Encode(text, options);
  ids.insert(ids.end(), encoded.begin(), encoded.end());
  ids.insert(ids.end(), added_suffix().begin(), added_suffix().end());
  return ids;
}

std::optional<TokenId> Tokenizer::SingleToken(std::string_view text) const {
  const std::vector<TokenId> ids = Encode(text);
  return ids.size() == 1 ? std::optional(ids.front()) : std::nullopt;
}

std::unique_ptr<Tokenizer> LoadTokenizer(const std::filesystem::path& model_dir) {
  const std::filesystem::path json_file = model_dir / "tokenizer.json";
  const std::filesystem::path model_file = model_dir / "tokenizer.model";
  const TokenizerConfig config = LoadTokenizerConfig(model_dir);
  if (ModelFileExists(json_file)) {
    const std::string origin = json_file.string();
    return ReadTokenizerJson(ParseJsonFile(ReadModelFile(json_file), origin), config, origin);
  }
  if (ModelFileExists(model_file)) {
    return std::make_unique<SentencePieceTokenizer>(ReadModelFile(model_file), config,
                                                    model_file.string());
  }
  return nullptr;
}

}  // namespace scorecast::coordinator
