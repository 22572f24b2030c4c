#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/text/models/token_collector.h"
#include "coordinator/text/steps/encode_options.h"
#include "coordinator/text/steps/token_template.h"
#include "proto/base/expected.h"
#include "proto/model/token_id.h"

namespace scorecast::coordinator {

using proto::TokenId;

/// A token that the vocabulary marks as special (control or added), as it is displayed.
struct SpecialToken {
  TokenId id = 0;
  std::string text;
  // How it depends on the text beside it: see AddedToken.
  bool single_word = false;
  bool takes_space_before = false;
  bool takes_space_behind = false;

  bool takes_neighbours() const { return single_word || takes_space_before || takes_space_behind; }
};

/// The tokens of a text.
struct EncodedText {
  std::vector<TokenId> ids;
  // A certain cut (see OpenEnd) that was found during encoding. It may be far from the text's end.
  std::size_t bytes_before_cut = 0;
  std::size_t tokens_before_cut = 0;
};

/// What is certain about the end of a text to which more text may be appended.
struct OpenEnd {
  /// The last place of the text, in bytes, at which it is certainly cut: for every continuation,
  /// the tokens of the whole are the tokens before the cut, which are always the same, and then the
  /// tokens of the rest encoded with `at_start` false. 0 if no such place is known.
  std::size_t cut = 0;
  /// A lower bound on the number of tokens that the whole has behind the cut.
  std::int64_t least_tokens = 0;
};

/// What a model directory says of the texts that its tokenizer encodes.
struct TextRules {
  /// Where a text is cut if its request does not say so.
  TruncationSide truncation_side = TruncationSide::kRight;
  /// Whether the model gets the types of tokens. If not, every token has type 0 for it.
  bool gives_token_types = true;
  /// Lines for the log: where the tokenizer is not as its files or transformers would have it.
  std::vector<std::string> notes;
  std::string note_on_types;  ///< The same, for models that have token types. Empty: nothing.
};

/// Converts text to ids and back, exactly as the reference implementation of the model's tokenizer
/// does. Const methods may be called from several threads at the same time.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  /// The ids of `text`, which must be valid UTF-8 (see IsValidUtf8). Adds no BOS or EOS. Linear in
  /// the text's length.
  std::vector<TokenId> Encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// The same within limits. A text is dropped early if it has too many tokens or if encoding is
  /// stopped. The cost of that depends on the limits, not on the text's length.
  proto::Expected<EncodedText, EncodeFault> EncodeWithin(const EncodeLimits& limits,
                                                         std::string_view text,
                                                         const EncodeOptions& options = {}) const;

  /// `text` must be valid UTF-8.
  virtual OpenEnd FindOpenEnd(std::string_view /*text*/, const EncodeOptions& /*options*/) const {
    return {};
  }

  /// Tokens that the tokenizer's own rule adds before and after a text (BOS, EOS); either may be
  /// empty.
  virtual const std::vector<TokenId>& added_prefix() const = 0;
  virtual const std::vector<TokenId>& added_suffix() const = 0;

  /// The whole rule, with the types of tokens and the form of a pair.
  virtual TokenTemplate token_template() const {
    return TokenTemplate::AroundEach(added_prefix(), added_suffix());
  }

  const TextRules& rules() const { return rules_; }
  void SetRules(TextRules rules) { rules_ = std::move(rules); }

  /// BOS, if the tokenizer's own rule adds one. BOS is the only added token that a request keeps.
  virtual std::optional<TokenId> bos() const = 0;

  /// The text of the ids, including special tokens. Ids outside of the vocabulary give no text.
  /// Bytes that are not valid UTF-8 become U+FFFD.
  virtual std::string Decode(std::span<const TokenId> ids) const = 0;

  /// The token as the vocabulary spells it, such as "Ġa" for " a"; empty for an id without a token.
  virtual std::string Spelling(TokenId id) const { return Decode({&id, 1}); }
  /// Whether the token is a special one, which skip_special_tokens leaves out of a text.
  virtual bool IsSpecial(TokenId /*id*/) const { return false; }

  /// How the text of a token depends on the tokens after it.
  enum class TextState {
    kCharacters,  ///< The text may end in a part of a character, shown as U+FFFD for now.
    kSettled,     ///< The text of the token, and all text before it, no longer changes.
    kOpen,        ///< The text may change until a settled token follows.
    kAbsent,      ///< The id has no token.
  };
  virtual TextState StateOf(TokenId /*id*/) const { return TextState::kCharacters; }

  /// Whether the token before a text decides if a space precedes the text. If so, a later part of a
  /// text is decoded behind the last token before it.
  virtual bool HasSpacesOfLastToken() const { return false; }

  /// One more than the largest id; config.json's vocab_size may be larger.
  virtual std::int64_t vocab_size() const = 0;

  /// E.g. "SentencePiece", "byte-level BPE", "Unigram", for `inspect`.
  virtual std::string_view kind() const = 0;
  virtual std::vector<SpecialToken> special_tokens() const = 0;

  /// added_prefix() + Encode(text, options) + added_suffix().
  std::vector<TokenId> EncodeWithAdded(std::string_view text,
                                       const EncodeOptions& options = {}) const;

  /// The id of a text that is exactly one token, else nullopt. A special token is one even if the
  /// tokenizer splits special tokens in texts.
  std::optional<TokenId> SingleToken(std::string_view text) const;

 private:
  /// The special token with this text, if the tokenizer splits it in texts.
  virtual std::optional<TokenId> SplitToken(std::string_view /*text*/) const {
    return std::nullopt;
  }

  /// Encodes `text` as a whole. Even with kEscape, the result may contain tokens that have an
  /// EscapedSpelling, because a model may make them from plain text.
  virtual void EncodeText(std::string_view text, const EncodeOptions& options,
                          TokenCollector& tokens) const = 0;

  /// The text of a token that must not be in the tokens of an escaped text; empty for all other
  /// tokens.
  virtual std::string_view EscapedSpelling(TokenId /*id*/) const { return {}; }

  /// The tokens of EncodeText.
  std::vector<TokenId> EncodeWhole(std::string_view text, const EncodeOptions& options,
                                   const EncodeLimits& limits) const;
  void AddEscaped(TokenId id, const EncodeLimits& limits, TokenCollector& tokens) const;
  void AddAll(std::vector<TokenId> ids, const EncodeOptions& options, const EncodeLimits& limits,
              TokenCollector& tokens) const;
  EncodedText EncodePieces(const EncodeLimits& limits, std::string_view text,
                           EncodeOptions options) const;

  TextRules rules_;
};

/// Reads `model_dir`/tokenizer.json or, if it does not exist, tokenizer.model or else vocab.txt.
/// Applies the tokenizer_config.json beside them, and `do_lower_case` of sentence-transformers'
/// sentence_bert_config.json. Returns null if none of them exists. Throws StartupError, one
/// line that names the file, if a file is malformed or needs something that is not supported. Added
/// tokens whose text occurs in `templates` are escaped in the same way as those that occur in the
/// directory's chat templates. `embedding_rows` is the number of tokens that the model has: a
/// special token that a configuration adds beyond them is refused.
std::unique_ptr<Tokenizer> LoadTokenizer(
    const std::filesystem::path& model_dir, std::string_view templates = {},
    std::int64_t embedding_rows = std::numeric_limits<std::int64_t>::max());

}  // namespace scorecast::coordinator
