#include "coordinator/prompts/token_cut.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

/// Tokens at the beginning of a text's end may be others than in the whole text. So many bytes more
/// are encoded that these tokens are not among the last ones.
constexpr std::size_t kLeastEndBytes = std::size_t{64} << 10;
constexpr std::size_t kEndBytesPerToken = 32;

bool ContinuesCharacter(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

}  // namespace

std::size_t CharacterEnd(std::string_view text, std::size_t size) {
  std::size_t end = std::min(size, text.size());
  while (end < text.size() && ContinuesCharacter(text[end])) {
    ++end;
  }
  return end;
}

Expected<std::vector<TokenId>, EncodeFault> FirstTokens(const Tokenizer& tokenizer,
                                                        std::string_view text,
                                                        const EncodeOptions& options,
                                                        std::size_t count,
                                                        const EncodeLimits& limits) {
  EncodeLimits pieces = limits.Uncounted();
  pieces.enough_tokens = static_cast<std::int64_t>(count);
  Expected<EncodedText, EncodeFault> encoded = tokenizer.EncodeWithin(pieces, text, options);
  if (!encoded) {
    return Unexpected(encoded.error());
  }
  encoded->ids.resize(std::min(encoded->ids.size(), count));
  return std::move(encoded->ids);
}

Expected<std::string, EncodeFault> FirstText(const Tokenizer& tokenizer, std::string_view text,
                                             std::int64_t count, const Interruption* interruption) {
  if (count == EncodeLimits::kUnlimited) {
    return std::string(text);
  }
  const auto most = static_cast<std::size_t>(count);
  Expected<std::vector<TokenId>, EncodeFault> ids =
      FirstTokens(tokenizer, text, {.special_tokens = SpecialTokensInText::kEscape}, most + 1,
                  {.interruption = interruption});
  if (!ids) {
    return Unexpected(ids.error());
  }
  if (ids->size() <= most) {
    return std::string(text);
  }
  std::string kept = tokenizer.Decode(std::span(*ids).first(most));
  constexpr std::string_view kPartOfCharacter = "\uFFFD";
  while (kept.ends_with(kPartOfCharacter)) {
    kept.resize(kept.size() - kPartOfCharacter.size());
  }
  return kept;
}

Expected<std::vector<TokenId>, EncodeFault> LastTokens(const Tokenizer& tokenizer,
                                                       std::string_view text,
                                                       const EncodeOptions& options,
                                                       std::size_t count,
                                                       const EncodeLimits& limits) {
  const std::size_t bytes = std::max(kLeastEndBytes, count * kEndBytesPerToken);
  EncodeOptions of_end = options;
  if (text.size() > bytes) {
    text.remove_prefix(CharacterEnd(text, text.size() - bytes));
    of_end.at_start = false;
    of_end.behind_token = false;
  }
  Expected<EncodedText, EncodeFault> encoded =
      tokenizer.EncodeWithin(limits.Uncounted(), text, of_end);
  if (!encoded) {
    return Unexpected(encoded.error());
  }
  std::vector<TokenId>& ids = encoded->ids;
  ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(std::min(ids.size(), count)));
  return std::move(ids);
}

}  // namespace scorecast::coordinator
