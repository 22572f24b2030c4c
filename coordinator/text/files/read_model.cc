#include "coordinator/text/files/read_model.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "coordinator/text/files/read_bpe_model.h"

namespace scorecast::coordinator {
namespace {

using proto::TokenId;

constexpr std::int64_t kMaxWordCharacters = 1'000'000'000;

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
          .ids = std::move(ids),
          .size = static_cast<std::int64_t>(data.tokens.size())};
}

/// Throws StartupError if the model is malformed or has no unknown token.
ReadModel ReadWordPieceModel(const JsonCursor& model) {
  IdBySpelling ids = ReadVocabulary(model.At("vocab"));
  const JsonCursor unknown_text = model.At("unk_token");
  const auto unknown = ids.find(unknown_text.String());
  if (unknown == ids.end()) {
    unknown_text.Fail(Quoted(unknown_text.String()) + " is not in the vocabulary");
  }
  WordPieceModel::Data data = {
      .tokens = {},
      .continuing_prefix = model.At("continuing_subword_prefix").String(),
      .unknown = unknown->second,
      .max_word_characters = static_cast<std::size_t>(
          model.At("max_input_chars_per_word").Integer(0, kMaxWordCharacters))};
  data.tokens.assign(ids.begin(), ids.end());
  const auto size = static_cast<std::int64_t>(ids.size());
  return {.model = WordPieceModel(data), .kind = "WordPiece", .ids = std::move(ids), .size = size};
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
  // Files from before 2021 have no `type`. Then a model with merges is taken for BPE, and one with
  // a prefix for WordPiece.
  const bool has_merges = model.Find("merges").has_value();
  if (type ? type->String() == "WordPiece"
           : !has_merges && model.Find("continuing_subword_prefix")) {
    if (is_byte_level) {
      (type ? *type : model).Fail("WordPiece after a ByteLevel pre-tokenizer is not supported");
    }
    return ReadWordPieceModel(model);
  }
  if (type ? type->String() != "BPE" : !has_merges) {
    model.Fail((type ? "type " + Quoted(type->String()) : "a model without merges") +
               " is not supported, only BPE, Unigram and WordPiece");
  }
  return ReadBpeModel(model, is_byte_level);
}

IdBySpelling ReadVocabulary(const JsonCursor& vocabulary) {
  if (!vocabulary.value().is_object()) {
    vocabulary.Fail("not an object");
  }
  const auto& entries = vocabulary.value().get_ref<const nlohmann::json::object_t&>();
  IdBySpelling ids;
  ids.reserve(entries.size());
  std::vector<bool> taken;
  for (const auto& [spelling, value] : entries) {
    const bool in_range = value.is_number_unsigned() &&
                          value.get<std::uint64_t>() <= static_cast<std::uint64_t>(kMaxTokenId);
    if (!in_range) {
      vocabulary.Fail("the id of " + Quoted(spelling) + " is not a whole number in 0 … " +
                      std::to_string(kMaxTokenId));
    }
    const auto id = value.get<TokenId>();
    if (static_cast<std::size_t>(id) >= taken.size()) {
      taken.resize(static_cast<std::size_t>(id) + 1);
    }
    if (taken[id]) {
      vocabulary.Fail("two tokens have the id " + std::to_string(id) + ", one of them " +
                      Quoted(spelling));
    }
    taken[id] = true;
    ids.emplace(spelling, id);
  }
  return ids;
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
