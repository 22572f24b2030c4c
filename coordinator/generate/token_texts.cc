#include "coordinator/generate/token_texts.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "coordinator/text/unicode/byte_alphabet.h"
#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

constexpr std::string_view kReplacementCharacter = "\uFFFD";

/// The byte that "<0xE4>" stands for.
std::optional<std::string> ByteOf(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || !spelling.ends_with('>')) {
    return std::nullopt;
  }
  unsigned byte = 0;
  const char* const end = spelling.data() + 5;
  const auto parsed = std::from_chars(spelling.data() + 3, end, byte, 16);
  return parsed.ptr == end ? std::optional(std::string(1, static_cast<char>(byte))) : std::nullopt;
}

/// Bytes that are not text, as the API of OpenAI spells them.
std::string SpelledBytes(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string spelled = "bytes:";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7F && c != '\\') {
      spelled += c;
    } else {
      spelled += "\\x";
      spelled += kDigits[byte >> 4U];
      spelled += kDigits[byte & 15U];
    }
  }
  return spelled;
}

std::string SpelledId(TokenId id) { return "token_id:" + std::to_string(id); }

}  // namespace

TokenTexts::TokenTexts(const Tokenizer* tokenizer, bool as_ids)
    : tokenizer_(tokenizer), as_ids_(as_ids || tokenizer == nullptr) {
  if (tokenizer != nullptr) {
    lead_ = tokenizer->Encode("a");
    lead_text_ = tokenizer->Decode(lead_);
  }
}

std::string TokenTexts::BytesOf(TokenId id) const {
  if (tokenizer_ == nullptr) {
    return "";
  }
  const bool has_space_behind = tokenizer_->HasSpacesOfLastToken();
  std::vector<TokenId> ids = lead_;
  ids.insert(has_space_behind ? ids.begin() : ids.end(), id);
  std::string text = tokenizer_->Decode(ids);
  if (has_space_behind && text.ends_with(lead_text_)) {
    text.resize(text.size() - lead_text_.size());
  } else if (!has_space_behind && text.starts_with(lead_text_)) {
    text.erase(0, lead_text_.size());
  } else {
    text = tokenizer_->Decode({&id, 1});
  }
  if (text.find(kReplacementCharacter) == std::string::npos) {
    return text;
  }
  // Either the token has U+FFFD, or its bytes are not whole characters.
  const std::string spelling = tokenizer_->Spelling(id);
  if (auto byte = ByteOf(spelling)) {
    return *std::move(byte);
  }
  return BytesOfSpelling(spelling).value_or(text);
}

std::string TokenTexts::SpellingOf(TokenId id) const {
  return as_ids_ ? SpelledId(id) : SpellingOf(id, BytesOf(id));
}

std::string TokenTexts::SpellingOf(TokenId id, std::string bytes) const {
  if (as_ids_) {
    return SpelledId(id);
  }
  return IsValidUtf8(bytes) ? std::move(bytes) : SpelledBytes(bytes);
}

std::vector<std::string> TokenTexts::DistinctSpellingsOf(std::span<const TokenId> ids) const {
  std::vector<std::string> spellings;
  for (const TokenId id : ids) {
    std::string spelling = SpellingOf(id);
    const bool is_taken = std::ranges::find(spellings, spelling) != spellings.end();
    spellings.push_back(is_taken ? SpelledId(id) : std::move(spelling));
  }
  return spellings;
}

std::int64_t CountCharacters(std::string_view text) {
  return std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; });
}

}  // namespace scorecast::coordinator
