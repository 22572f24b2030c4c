#include "coordinator/text/files/read_bpe_model.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/text/unicode/byte_alphabet.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

using proto::TokenId;

void CheckOptions(const JsonCursor& model) {
  const std::optional<JsonCursor> dropout = model.Find("dropout");
  if (dropout && dropout->value() != 0) {
    dropout->Fail("not supported");
  }
  const std::optional<JsonCursor> prefix = model.Find("continuing_subword_prefix");
  if (prefix && !prefix->String().empty()) {
    prefix->Fail(Quoted(prefix->String()) + " is not supported");
  }
}

class MergesReader {
 public:
  MergesReader(const JsonCursor& merges, const IdBySpelling& ids) : merges_(merges), ids_(ids) {
    if (!merges.value().is_array()) {
      merges.Fail("not a list");
    }
  }

  MergeTable Read() {
    MergeTable table(merges_.value().size());
    std::uint32_t rank = 0;
    for (const nlohmann::json& entry : merges_.value()) {
      if (!IsVersionLine(entry)) {
        const auto [left, right] = Parts(entry);
        const TokenId left_id = Id(left);
        const TokenId right_id = Id(right);
        joined_.assign(left);
        joined_ += right;
        table.Insert(left_id, right_id, {.rank = rank++, .merged = Id(joined_)});
      }
      ++index_;
    }
    return table;
  }

 private:
  /// Whether this is the first line of a merges.txt, which some files contain.
  static bool IsVersionLine(const nlohmann::json& entry) {
    return entry.is_string() && entry.get_ref<const std::string&>().starts_with("#version");
  }

  std::pair<std::string_view, std::string_view> Parts(const nlohmann::json& entry) const {
    if (entry.is_array() && entry.size() == 2 && entry[0].is_string() && entry[1].is_string()) {
      return {entry[0].get_ref<const std::string&>(), entry[1].get_ref<const std::string&>()};
    }
    if (entry.is_string()) {
      const std::string_view text = entry.get_ref<const std::string&>();
      const std::size_t space = text.find(' ');
      if (space != std::string_view::npos && space == text.rfind(' ')) {
        return {text.substr(0, space), text.substr(space + 1)};
      }
    }
    Fail(R"(neither "a b" nor ["a", "b"])");
  }

  TokenId Id(std::string_view spelling) const {
    const auto entry = ids_.find(spelling);
    if (entry == ids_.end()) {
      Fail(Quoted(spelling) + " is not in the vocabulary");
    }
    return entry->second;
  }

  [[noreturn]] void Fail(const std::string& what) const {
    merges_.Fail("merge " + std::to_string(index_) + ": " + what);
  }

  const JsonCursor& merges_;
  const IdBySpelling& ids_;
  std::size_t index_ = 0;
  std::string joined_;
};

/// The tokens of the bytes, spelled with a suffix, which may be empty.
BpeModel::ByteTokens ReadByteTokens(const IdBySpelling& ids, const std::string& suffix) {
  BpeModel::ByteTokens tokens{};
  for (int byte = 0; byte < 256; ++byte) {
    const auto token = ids.find(ByteSpelling(static_cast<std::uint8_t>(byte)) + suffix);
    tokens[byte] = token != ids.end() ? token->second : -1;
  }
  return tokens;
}

/// The same for characters.
std::unordered_map<char32_t, TokenId> ReadCharacterTokens(const IdBySpelling& ids,
                                                          const std::string& suffix) {
  std::unordered_map<char32_t, TokenId> tokens;
  for (const auto& [spelling, id] : ids) {
    if (!spelling.ends_with(suffix)) {
      continue;
    }
    const std::string_view character = spelling.substr(0, spelling.size() - suffix.size());
    if (!character.empty() && FirstCodePoint(character).length == character.size()) {
      tokens.emplace(FirstCodePoint(character).value, id);
    }
  }
  return tokens;
}

/// What tokens have at the ends of words, if that is something.
std::optional<BpeModel::WordEnd> ReadWordEnd(const JsonCursor& model, const IdBySpelling& ids,
                                             bool is_byte_level) {
  const std::optional<JsonCursor> suffix = model.Find("end_of_word_suffix");
  if (!suffix || suffix->String().empty()) {
    return std::nullopt;
  }
  BpeModel::WordEnd end{.suffix = suffix->String(), .character_tokens = {}, .byte_tokens = {}};
  if (is_byte_level) {
    end.byte_tokens = ReadByteTokens(ids, end.suffix);
  } else {
    end.character_tokens = ReadCharacterTokens(ids, end.suffix);
  }
  return end;
}

void ReadBytePairs(const IdBySpelling& ids, BpeModel::Data& data) {
  for (const auto& [spelling, id] : ids) {
    // If a spelling has a character outside of the alphabet, its token is never made of bytes.
    if (const std::optional<std::string> bytes = BytesOfSpelling(spelling)) {
      data.pairs.AddBytes(*bytes);
      data.longest.AddBytes(*bytes);
    }
  }
}

void ReadCharacterPairs(const IdBySpelling& ids, BpeModel::Data& data) {
  for (const auto& [spelling, id] : ids) {
    data.pairs.Add(spelling);
    data.longest.AddCharacters(spelling);
  }
}

/// The unknown token. In byte-level BPE it can occur only if some byte has no token.
std::optional<TokenId> ReadUnknown(const JsonCursor& model, const BpeModel::Data& data,
                                   const IdBySpelling& ids) {
  const std::optional<JsonCursor> unknown = model.Find("unk_token");
  const auto lacks_byte = [](const BpeModel::ByteTokens& tokens) {
    return std::find(tokens.begin(), tokens.end(), -1) != tokens.end();
  };
  const bool occurs = data.character_tokens || lacks_byte(data.byte_tokens) ||
                      (data.word_end && lacks_byte(data.word_end->byte_tokens));
  if (!unknown || !occurs) {
    return std::nullopt;
  }
  const auto token = ids.find(unknown->String());
  if (token == ids.end()) {
    unknown->Fail(Quoted(unknown->String()) + " is not in the vocabulary");
  }
  return token->second;
}

BpeModel::IdByText WholePieces(const IdBySpelling& ids, bool is_byte_level) {
  BpeModel::IdByText pieces;
  pieces.reserve(ids.size());
  for (const auto& [spelling, id] : ids) {
    if (!is_byte_level) {
      pieces.emplace(spelling, id);
    } else if (std::optional<std::string> bytes = BytesOfSpelling(spelling)) {
      pieces.emplace(*std::move(bytes), id);
    }
  }
  return pieces;
}

}  // namespace

ReadModel ReadBpeModel(const JsonCursor& model, bool is_byte_level) {
  CheckOptions(model);
  IdBySpelling ids = ReadVocabulary(model.At("vocab"));
  BpeModel::Data data;
  if (is_byte_level) {
    data.byte_tokens = ReadByteTokens(ids, /*suffix=*/"");
    ReadBytePairs(ids, data);
  } else {
    data.character_tokens = ReadCharacterTokens(ids, /*suffix=*/"");
    ReadCharacterPairs(ids, data);
  }
  data.pairs.Finish();
  data.word_end = ReadWordEnd(model, ids, is_byte_level);
  const bool byte_fallback = model.Flag("byte_fallback", false);
  if (byte_fallback) {
    data.fallback = FallbackTokens(ids);
  }
  data.unknown = ReadUnknown(model, data, ids);
  data.fuse_unknown = model.Flag("fuse_unk", false);
  data.merges = MergesReader(model.At("merges"), ids).Read();
  if (model.Flag("ignore_merges", false)) {
    data.whole_pieces = WholePieces(ids, is_byte_level);
  }
  const auto size = static_cast<std::int64_t>(ids.size());
  return {.model = BpeModel(std::move(data)),
          .kind = is_byte_level   ? "byte-level BPE"
                  : byte_fallback ? "BPE with byte fallback"
                                  : "BPE",
          .ids = std::move(ids),
          .size = size};
}

}  // namespace scorecast::coordinator
