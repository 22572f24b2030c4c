#include "coordinator/request/delimiter_flag.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "coordinator/text/unicode/utf8.h"
#include "proto/base/count.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

using proto::StartupError;

constexpr char kFlag[] = "--multi-item-scoring-delimiter";

bool IsAllDigits(std::string_view value) {
  return !value.empty() &&
         std::all_of(value.begin(), value.end(), [](char c) { return '0' <= c && c <= '9'; });
}

std::int64_t IdOfText(std::string_view text, const Tokenizer* tokenizer) {
  std::string quoted = kFlag;
  quoted.append(" \"").append(text).append("\"");
  if (tokenizer == nullptr) {
    throw StartupError(quoted + " is text, but the model directory has no tokenizer: give an id");
  }
  if (!IsValidUtf8(text)) {
    throw StartupError(std::string(kFlag) + " is not valid UTF-8");
  }
  // SentencePiece never finds a control token in text, so a control token is the safest delimiter.
  // The flag names it by its spelling.
  for (const SpecialToken& token : tokenizer->special_tokens()) {
    if (token.text == text) {
      return token.id;
    }
  }
  const std::optional<TokenId> id = tokenizer->SingleToken(text);
  if (!id) {
    throw StartupError(quoted + " must be exactly one token, but it is " +
                       proto::Count(tokenizer->Encode(text).size(), "token"));
  }
  return *id;
}

}  // namespace

TokenId DelimiterFromFlag(std::string_view value, const Tokenizer* tokenizer,
                          const proto::ModelConfig& config) {
  std::int64_t id = 0;
  if (IsAllDigits(value)) {
    if (std::from_chars(value.data(), value.data() + value.size(), id).ec != std::errc()) {
      id = std::numeric_limits<std::int64_t>::max();
    }
  } else {
    id = IdOfText(value, tokenizer);
  }
  if (id < 0 || id >= config.vocab_size) {
    throw StartupError(std::string(kFlag) + " " + std::string(value) +
                       " is outside the model's vocabulary of " +
                       proto::Count(config.vocab_size, "token"));
  }
  return static_cast<TokenId>(id);
}

}  // namespace scorecast::coordinator
