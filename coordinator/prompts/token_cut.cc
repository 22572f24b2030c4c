#include "coordinator/prompts/token_cut.h"

#include <algorithm>
#include <utility>

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

/// Small pieces, so that a certain cut is found close to a text's end.
constexpr std::size_t kPieceBytes = 4096;
/// More than the bytes of a token in ordinary text.
constexpr std::size_t kBytesPerToken = 8;
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
  pieces.piece_bytes = kPieceBytes;
  for (std::size_t bytes = 4 * kPieceBytes + count * kBytesPerToken;; bytes *= 2) {
    const std::size_t end = CharacterEnd(text, bytes);
    Expected<EncodedText, EncodeFault> encoded =
        tokenizer.EncodeWithin(pieces, text.substr(0, end), options);
    if (!encoded) {
      return Unexpected(encoded.error());
    }
    // Tokens before a certain cut are the same, whatever follows.
    if (end == text.size() || encoded->tokens_before_cut >= count) {
      encoded->ids.resize(std::min(encoded->ids.size(), count));
      return std::move(encoded->ids);
    }
  }
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
