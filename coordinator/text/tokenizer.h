#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "proto/model/model_config.h"

namespace scorecast::coordinator {

using proto::TokenId;

/// A token that the vocabulary marks as special (control, added), for people to look at.
struct SpecialToken {
  TokenId id = 0;
  std::string text;
};

/// Text to ids and back, as the reference implementation of the model's tokenizer does it. Const
/// methods are safe to call from any number of threads.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The ids of `text`, which must be valid UTF-8 (see IsValidUtf8); nothing is added. Spellings of
  /// special tokens are found in text as the reference finds them. Linear in the text's length.
  virtual std::vector<TokenId> Encode(std::string_view text) const = 0;

  /// What the tokenizer's own rule puts before and after a text (BOS, EOS); either may be empty.
  virtual const std::vector<TokenId>& added_prefix() const = 0;
  virtual const std::vector<TokenId>& added_suffix() const = 0;

  /// BOS, where the tokenizer's own rule adds one. The only added token that a request keeps.
  virtual std::optional<TokenId> bos() const = 0;

  /// Text of the ids, special tokens kept. Ids outside the vocabulary give nothing. Bytes that are
  /// no UTF-8 become U+FFFD.
  virtual std::string Decode(std::span<const TokenId> ids) const = 0;

  /// One more than the largest id; config.json's vocab_size may be larger.
  virtual std::int64_t vocab_size() const = 0;

  /// "SentencePiece" or "byte-level BPE", for `inspect`.
  virtual std::string_view kind() const = 0;
  virtual std::vector<SpecialToken> special_tokens() const = 0;

  /// added_prefix() + Encode(text) + added_suffix().
  std::vector<TokenId> EncodeWithAdded(std::string_view text) const;

  /// The id of a text that is exactly one token.
  std::optional<TokenId> SingleToken(std::string_view text) const;
};

/// Reads `model_dir`/tokenizer.json, else tokenizer.model; where the one is a conversion of the
/// other (as beside Llama 2), tokenizer.model. tokenizer_config.json beside them is honoured. A
/// null pointer where there is neither file. Throws StartupError (one line that names the file)
/// where a file is broken or asks for something that is not supported.
std::unique_ptr<Tokenizer> LoadTokenizer(const std::filesystem::path& model_dir);

bool IsValidUtf8(std::string_view text);

}  // namespace scorecast::coordinator
