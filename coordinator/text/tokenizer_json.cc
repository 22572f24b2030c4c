#include "coordinator/text/tokenizer_json.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "coordinator/text/added_tokens.h"
#include "coordinator/text/bpe_tokenizer.h"
#include "coordinator/text/byte_alphabet.h"
#include "coordinator/text/collect_added_tokens.h"
#include "coordinator/text/json_cursor.h"
#include "coordinator/text/normalizer.h"
#include "coordinator/text/read_bpe_model.h"
#include "coordinator/text/read_post_processor.h"
#include "coordinator/text/read_pre_tokenizer.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

using IdBySpelling = std::unordered_map<std::string_view, TokenId>;

void CheckNfc(const JsonCursor& normalizer) {
  const JsonCursor type = normalizer.At("type");
  if (type.String() != "NFC") {
    type.Fail(Quoted(type.String()) + " is not supported here");
  }
}

Normalization ReadNormalization(const JsonCursor& root) {
  const std::optional<JsonCursor> normalizer = root.Find("normalizer");
  if (!normalizer) {
    return Normalization::kNone;
  }
  if (normalizer->At("type").String() != "Sequence") {
    CheckNfc(*normalizer);
    return Normalization::kNfc;
  }
  Normalization normalization = Normalization::kNone;
  normalizer->At("normalizers").ForEachElement([&](const JsonCursor& part) {
    CheckNfc(part);
    normalization = Normalization::kNfc;
  });
  return normalization;
}

void CheckDecoder(const JsonCursor& root) {
  const JsonCursor type = root.At("decoder").At("type");
  if (type.String() != "ByteLevel") {
    type.Fail(Quoted(type.String()) + " is not supported");
  }
}

/// The bytes to which each id decodes. As in the reference, a token that is spelled in the byte
/// alphabet becomes its bytes, even if it is an added one, and any other token is taken literally.
/// An added token that is `normalized` decodes to its normalized text.
std::vector<std::string> TokenBytes(const IdBySpelling& ids, const std::vector<AddedToken>& added,
                                    Normalization normalization) {
  TokenId largest = -1;
  for (const auto& [spelling, id] : ids) {
    largest = std::max(largest, id);
  }
  std::vector<std::string> bytes(static_cast<std::size_t>(largest) + 1);
  const auto set = [&](TokenId id, std::string_view spelling) {
    bytes[id] = BytesOfSpelling(spelling).value_or(std::string(spelling));
  };
  for (const auto& [spelling, id] : ids) {
    set(id, spelling);
  }
  for (const AddedToken& token : added) {
    set(token.id, token.normalized ? Normalize(normalization, token.content) : token.content);
  }
  return bytes;
}

/// The id of a token that the configuration adds.
TokenId ConfiguredToken(const TokenizerConfig& config, const std::optional<std::string>& token,
                        std::string_view name, const IdBySpelling& ids) {
  const std::string what =
      config.origin + ": add_" + std::string(name) + " is true, but " + std::string(name) + " ";
  if (!token) {
    throw proto::StartupError(what + "is not set");
  }
  const auto entry = ids.find(*token);
  if (entry == ids.end()) {
    throw proto::StartupError(what + Quoted(*token) + " is not in the vocabulary");
  }
  return entry->second;
}

/// The tokens of the post-processor's template are never made of an escaped text.
void MarkTemplateTokens(const AddedAround& around, std::vector<AddedToken>& added) {
  for (AddedToken& token : added) {
    const auto is_in = [&](const std::vector<TokenId>& side) {
      return std::find(side.begin(), side.end(), token.id) != side.end();
    };
    token.escapable = token.escapable || is_in(around.prefix) || is_in(around.suffix);
  }
}

void ApplyConfig(const TokenizerConfig& config, const IdBySpelling& ids, AddedAround& around) {
  if (config.add_bos_token) {
    around.prefix.clear();
    if (*config.add_bos_token) {
      around.prefix.push_back(ConfiguredToken(config, config.bos_token, "bos_token", ids));
    }
  }
  if (config.add_eos_token) {
    around.suffix.clear();
    if (*config.add_eos_token) {
      around.suffix.push_back(ConfiguredToken(config, config.eos_token, "eos_token", ids));
    }
  }
}

/// The BOS among the tokens of the prefix: the one that the configuration names or, if it names
/// none, the first one.
std::optional<TokenId> FindBos(const TokenizerConfig& config, const IdBySpelling& ids,
                               const std::vector<TokenId>& prefix) {
  if (prefix.empty()) {
    return std::nullopt;
  }
  if (!config.bos_token) {
    return prefix.front();
  }
  const auto bos = ids.find(*config.bos_token);
  if (bos == ids.end() || std::find(prefix.begin(), prefix.end(), bos->second) == prefix.end()) {
    return std::nullopt;
  }
  return bos->second;
}

}  // namespace

std::unique_ptr<Tokenizer> ReadTokenizerJson(const nlohmann::json& document,
                                             const TokenizerConfig& config,
                                             const std::string& origin) {
  const JsonCursor root(document, origin);
  auto [model, ids] = ReadBpeModel(root.At("model"));
  std::vector<AddedToken> added = CollectAddedTokens(root, config, ids);
  const Normalization normalization = ReadNormalization(root);
  std::vector<std::string> token_bytes = TokenBytes(ids, added, normalization);
  if (token_bytes.empty()) {
    root.Fail("the vocabulary is empty");
  }

  AddedAround around;
  if (const std::optional<JsonCursor> processor = root.Find("post_processor")) {
    around = ReadPostProcessor(*processor, static_cast<std::int64_t>(token_bytes.size()));
  }
  MarkTemplateTokens(around, added);
  ApplyConfig(config, ids, around);
  const std::optional<TokenId> bos = FindBos(config, ids, around.prefix);
  CheckDecoder(root);
  return std::make_unique<BpeTokenizer>(
      BpeTokenizer::Parts{.added_tokens = AddedTokens(std::move(added), normalization),
                          .pre_tokenizer = ReadPreTokenizer(root.At("pre_tokenizer")),
                          .model = BpeModel(std::move(model)),
                          .token_bytes = std::move(token_bytes),
                          .added_prefix = std::move(around.prefix),
                          .added_suffix = std::move(around.suffix),
                          .bos = bos});
}

bool IsSentencePieceConversion(const nlohmann::json& document) {
  const auto model = document.is_object() ? document.find("model") : document.end();
  if (model == document.end() || !model->is_object()) {
    return false;
  }
  const auto has = [&](const char* name, const nlohmann::json& value) {
    const auto member = model->find(name);
    return member != model->end() && *member == value;
  };
  return has("type", "Unigram") || has("byte_fallback", true);
}

}  // namespace scorecast::coordinator
