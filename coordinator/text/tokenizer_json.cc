#include "coordinator/text/tokenizer_json.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/files/added_vocabulary.h"
#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/read_decoder.h"
#include "coordinator/text/files/read_model.h"
#include "coordinator/text/files/read_normalizer.h"
#include "coordinator/text/files/read_post_processor.h"
#include "coordinator/text/files/read_pre_tokenizer.h"
#include "coordinator/text/pipeline_tokenizer.h"
#include "coordinator/text/steps/added_tokens.h"
#include "coordinator/text/steps/normalizer.h"
#include "coordinator/text/steps/token_template.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

/// −1 for an empty vocabulary.
TokenId LargestId(const IdBySpelling& ids) {
  TokenId largest = -1;
  for (const auto& [spelling, id] : ids) {
    largest = std::max(largest, id);
  }
  return largest;
}

/// The text that each id is decoded from, as in the reference: the spelling in the vocabulary, or
/// the content of an added token, which is normalized if the token is.
std::vector<std::string> Spellings(const IdBySpelling& ids, const std::vector<AddedToken>& added,
                                   const Normalizer& normalizer) {
  std::vector<std::string> spellings(static_cast<std::size_t>(LargestId(ids)) + 1);
  for (const auto& [spelling, id] : ids) {
    spellings[id] = spelling;
  }
  for (const AddedToken& token : added) {
    spellings[token.id] = token.normalized ? normalizer.Apply(token.content) : token.content;
  }
  return spellings;
}

/// The id of a token that the configuration names as added around a text.
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

/// An escaped text must never contain a token of the post-processor's template.
void MarkTemplateTokens(const TokenTemplate& around, std::vector<AddedToken>& added) {
  for (AddedToken& token : added) {
    const auto is_in = [&](const TokenTemplate::Parts& parts) {
      return std::ranges::find(parts, token.id, &TokenTemplate::Part::id) != parts.end();
    };
    token.escapable = token.escapable || is_in(around.single) || is_in(around.pair);
  }
}

void MarkUnknownToken(const JsonCursor& model, std::vector<AddedToken>& added) {
  const std::optional<JsonCursor> text = model.Find("unk_token");  // Used by BPE.
  const std::optional<JsonCursor> id = model.Find("unk_id");       // Used by Unigram.
  for (AddedToken& token : added) {
    token.is_unknown = (text && text->value() == token.content) || (id && id->value() == token.id);
  }
}

/// If the configuration changes what is around a text, each text of a pair has the same around it.
void ApplyConfig(const TokenizerConfig& config, const IdBySpelling& ids, TokenTemplate& around) {
  std::vector<TokenId> prefix = around.Prefix();
  std::vector<TokenId> suffix = around.Suffix();
  if (config.add_bos_token) {
    prefix.clear();
    if (*config.add_bos_token) {
      prefix.push_back(ConfiguredToken(config, config.bos_token, "bos_token", ids));
    }
  }
  if (config.add_eos_token) {
    suffix.clear();
    if (*config.add_eos_token) {
      suffix.push_back(ConfiguredToken(config, config.eos_token, "eos_token", ids));
    }
  }
  if (prefix != around.Prefix() || suffix != around.Suffix()) {
    around = TokenTemplate::AroundEach(prefix, suffix);
  }
}

/// The BOS among the tokens of the prefix: the one that the configuration names, or the first one
/// if it names none.
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
  const std::optional<JsonCursor> pre_tokenizer_part = root.Find("pre_tokenizer");
  PreTokenizer pre_tokenizer =
      pre_tokenizer_part ? ReadPreTokenizer(*pre_tokenizer_part) : PreTokenizer();
  auto [model, kind, ids, model_size] =
      ReadTokenizerModel(root.At("model"), pre_tokenizer.is_byte_level());
  AddedVocabulary vocabulary(config, model_size, ids);
  vocabulary.AddFromFiles(root);
  if (ids.empty()) {
    root.Fail("the vocabulary is empty");
  }
  TokenTemplate around;
  if (const std::optional<JsonCursor> processor = root.Find("post_processor")) {
    around = ReadPostProcessor(*processor, LargestId(ids) + 1);
  }
  const TokenTemplate of_tokenizer = around;
  ApplyConfig(config, ids, around);
  // What is around a text was in the vocabulary before.
  vocabulary.AddNamed();
  const std::string note = vocabulary.note();
  std::vector<AddedToken> added = std::move(vocabulary).Take();
  MarkTemplateTokens(of_tokenizer, added);
  MarkUnknownToken(root.At("model"), added);
  const std::optional<JsonCursor> normalizer_part = root.Find("normalizer");
  Normalizer normalizer = normalizer_part ? ReadNormalizer(*normalizer_part) : Normalizer();
  std::vector<std::string> spellings = Spellings(ids, added, normalizer);
  const std::optional<TokenId> bos = FindBos(config, ids, around.Prefix());
  auto tokenizer = std::make_unique<PipelineTokenizer>(PipelineTokenizer::Parts{
      .added_tokens =
          AddedTokens(std::move(added), std::move(normalizer), config.split_special_tokens),
      .pre_tokenizer = std::move(pre_tokenizer),
      .model = std::move(model),
      .decoder = ReadDecoder(root.Find("decoder")),
      .kind = kind,
      .spellings = std::move(spellings),
      .token_template = std::move(around),
      .bos = bos});
  if (!note.empty()) {
    tokenizer->SetRules({.notes = {note}});
  }
  return tokenizer;
}

}  // namespace scorecast::coordinator
