#include "coordinator/text/files/read_model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/text/files/read_bpe_model.h"

namespace scorecast::coordinator {
namespace {

using proto::TokenId;

UnigramModel::Token ReadScoredToken(const JsonCursor& entry) {
  const nlohmann::json& value = entry.value();
  if (!value.is_array() || value.size() != 2 || !value[0].is_string() || !value[1].is_number()) {
    entry.Fail("not a pair [text, score]");
  }
  return {value[0].get<std::string>(), value[1].get<double>()};
}

/// Throws StartupError if the model is malformed or has no unknown token.
ReadModel ReadUnigramModel(const JsonCursor& model) {
  UnigramModel::Data data;
  IdBySpelling ids;
  const JsonCursor vocabulary = model.At("vocab");
  vocabulary.ForEachElement([&](const JsonCursor& entry) {
    const auto id = static_cast<TokenId>(data.tokens.size());
    if (id > kMaxTokenId) {
      vocabulary.Fail("more than " + std::to_string(kMaxTokenId + 1) + " tokens");
    }
    data.tokens.push_back(ReadScoredToken(entry));
    ids[entry.value()[0].get_ref<const std::string&>()] = id;
  });
  if (data.tokens.empty()) {
    vocabulary.Fail("empty");
  }
  data.unknown = static_cast<TokenId>(
      model.At("unk_id").Integer(0, static_cast<std::int64_t>(data.tokens.size()) - 1));
  const bool byte_fallback = model.Flag("byte_fallback", false);
  if (byte_fallback) {
    data.fallback = FallbackTokens(ids);
  }
  return {.model = UnigramModel(data),
          .kind = byte_fallback ? "Unigram with byte fallback" : "Unigram",
          .ids = std::move(ids)};
}

}  // namespace

ReadModel ReadTokenizerModel(const JsonCursor& model, bool is_byte_level) {
  const std::optional<JsonCursor> type = model.Find("type");
  if (type && type->String() == "Unigram") {
    if (is_byte_level) {
      type->Fail("Unigram after a ByteLevel pre-tokenizer is not supported");
    }
    return ReadUnigramModel(model);
  }
  // Files from before 2021 have no `type`; then a model with merges is taken for BPE.
  if (type ? type->String() != "BPE" : !model.Find("merges")) {
    model.Fail((type ? "type " + Quoted(type->String()) : "a model without merges") +
               " is not supported, only BPE and Unigram");
  }
  return ReadBpeModel(model, is_byte_level);
}

std::array<proto::TokenId, 256> FallbackTokens(const IdBySpelling& ids) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::array<proto::TokenId, 256> tokens{};
  for (std::size_t byte = 0; byte < tokens.size(); ++byte) {
    const std::string spelling = {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
    const auto token = ids.find(spelling);
    tokens[byte] = token != ids.end() ? token->second : -1;
  }
  return tokens;
}

}  // namespace scorecast::coordinator
