#include "coordinator/text/tokenizer.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/text/files/configured_steps.h"
#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"
#include "coordinator/text/files/sentence_bert_config.h"
#include "coordinator/text/files/tokenizer_config.h"
#include "coordinator/text/files/vocab_txt.h"
#include "coordinator/text/sentencepiece_tokenizer.h"
#include "coordinator/text/tokenizer_json.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

/// A piece has at least this size, even if few tokens are allowed.
constexpr std::size_t kLeastPieceBytes = 4096;
/// A token of ordinary text has fewer bytes than this.
constexpr std::int64_t kBytesPerToken = 8;

/// Size of the pieces of a text of `bytes` bytes. A text within the limit of tokens is one piece,
/// unless it is very long. Then its pieces are smaller, because some steps are not interrupted in a
/// piece.
std::size_t PieceBytes(const EncodeLimits& limits, std::size_t bytes) {
  const std::int64_t tokens =
      std::clamp<std::int64_t>(std::min(limits.max_tokens, limits.enough_tokens), 0,
                               EncodeLimits::kUnlimited / kBytesPerToken);
  const std::size_t size =
      std::min(limits.piece_bytes,
               std::max(kLeastPieceBytes, static_cast<std::size_t>(tokens * kBytesPerToken)));
  constexpr std::size_t kSmaller = 4;
  return bytes <= size + size / 2 ? size
                                  : std::max(size / kSmaller, std::min(size, kLeastPieceBytes));
}

/// The first `size` bytes of a longer text, and a few more if they would end inside a character.
std::string_view Beginning(std::string_view text, std::size_t size) {
  while ((static_cast<unsigned char>(text[size]) & 0xC0) == 0x80) {
    ++size;
  }
  return text.substr(0, size);
}

bool EndsWith(const std::vector<TokenId>& ids, const std::vector<TokenId>& end) {
  return end.size() <= ids.size() && std::equal(end.rbegin(), end.rend(), ids.rbegin());
}

/// `direction` of the `truncation` of a tokenizer.json, which may be absent or null.
std::optional<TruncationSide> TruncationSideOf(const JsonCursor& document) {
  const std::optional<JsonCursor> truncation = document.Find("truncation");
  const std::optional<JsonCursor> direction =
      truncation ? truncation->Find("direction") : std::nullopt;
  if (!direction) {
    return std::nullopt;
  }
  if (direction->String() != "Left" && direction->String() != "Right") {
    direction->Fail(Quoted(direction->String()) + R"( is neither "Left" nor "Right")");
  }
  return direction->String() == "Left" ? TruncationSide::kLeft : TruncationSide::kRight;
}

/// Adds the notes on a tokenizer.json that transformers reads in another way.
void AddNotes(const TokenizerConfig& config, const Tokenizer& tokenizer, TextRules& rules) {
  const TokenizerClass& its_class = config.tokenizer_class;
  // transformers takes a byte-level tokenizer.json as it is if its class is LlamaTokenizer.
  if (its_class.Rebuilds() &&
      (its_class.name() != "LlamaTokenizer" || tokenizer.kind() != "byte-level BPE")) {
    const std::string_view on_top =
        its_class.HasBertSwitches()
            ? ", with do_lower_case, strip_accents and tokenize_chinese_chars on top"
            : "";
    rules.notes.push_back("tokenizer.json is followed as it is" + std::string(on_top) +
                          "; transformers 5.24 rebuilds it for its class, " + its_class.name());
  }
  const TokenTemplate::Parts pair = tokenizer.token_template().pair;
  if (its_class.is_of_version_4() && !config.model_input_types &&
      std::ranges::any_of(pair, [](const auto& part) { return part.type != 0; })) {
    rules.note_on_types =
        "the texts of a pair have the token types 0 and 1, because transformers 4 wrote the "
        "tokenizer's class, PreTrainedTokenizerFast; transformers 5.24 gives type 0 alone";
  }
}

}  // namespace

std::vector<TokenId> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  return EncodeWithin({.max_uncut_bytes = SIZE_MAX}, text, options).value().ids;
}

Expected<EncodedText, EncodeFault> Tokenizer::EncodeWithin(const EncodeLimits& limits,
                                                           std::string_view text,
                                                           const EncodeOptions& options) const {
  // If a text is not valid UTF-8, PCRE2 reads out of bounds. Therefore a caller's mistake is
  // repaired here.
  std::string repaired;
  if (!IsValidUtf8(text)) {
    repaired = ReplaceInvalidUtf8(text);
    text = repaired;
  }
  try {
    return EncodePieces(limits, text, options);
  } catch (const TokenCollector::Ended& ended) {
    return Unexpected(ended.fault);
  }
}

/// Encodes a long text piece by piece, up to a certain cut in each piece. The tokens before a cut
/// are the tokens of the piece without the tokens of its part behind the cut. If a piece has no
/// certain cut in its second half, the piece is made longer, up to a limit.
EncodedText Tokenizer::EncodePieces(const EncodeLimits& limits, std::string_view text,
                                    EncodeOptions options) const {
  TokenCollector tokens(limits);
  EncodedText encoded;
  const std::size_t piece_bytes = PieceBytes(limits, text.size());
  std::size_t size = piece_bytes;
  tokens.Poll();
  tokens.ExpectAtLeast(0);  // There may already be too many tokens before the text.
  while (text.size() > size + size / 2) {
    const std::string_view piece = Beginning(text, size);
    const OpenEnd end = FindOpenEnd(piece, options);
    tokens.Poll();
    tokens.ExpectAtLeast(end.least_tokens);
    const bool is_longest = size >= limits.max_uncut_bytes;
    size = is_longest ? size : std::min(2 * size, limits.max_uncut_bytes);
    if (end.cut == 0 || end.cut < piece.size() / 2) {
      if (is_longest) {
        throw TokenCollector::Ended{EncodeFault::kUncut};
      }
      continue;
    }
    EncodeOptions later = options;
    later.at_start = false;
    later.behind_token = false;
    std::vector<TokenId> ids = EncodeWhole(piece, options, limits.Uncounted());
    const std::vector<TokenId> behind =
        EncodeWhole(piece.substr(end.cut), later, limits.Uncounted());
    // An empty continuation is possible, so the tokens of the piece must end with the tokens behind
    // the cut. If they do not, the cut is not used.
    if (!EndsWith(ids, behind)) {
      if (is_longest) {
        throw TokenCollector::Ended{EncodeFault::kUncut};
      }
      continue;
    }
    ids.resize(ids.size() - behind.size());
    AddAll(std::move(ids), options, limits, tokens);
    text.remove_prefix(end.cut);
    encoded.bytes_before_cut += end.cut;
    encoded.tokens_before_cut = tokens.ids().size();
    options = later;
    size = piece_bytes;
    if (static_cast<std::int64_t>(tokens.ids().size()) >= limits.enough_tokens) {
      encoded.ids = std::move(tokens).Take();
      return encoded;
    }
  }
  EncodeLimits left = limits;
  left.max_tokens = tokens.left();
  AddAll(EncodeWhole(text, options, left), options, limits, tokens);
  encoded.ids = std::move(tokens).Take();
  return encoded;
}

std::vector<TokenId> Tokenizer::EncodeWhole(std::string_view text, const EncodeOptions& options,
                                            const EncodeLimits& limits) const {
  TokenCollector tokens(limits);
  EncodeText(text, options, tokens);
  return std::move(tokens).Take();
}

void Tokenizer::AddAll(std::vector<TokenId> ids, const EncodeOptions& options,
                       const EncodeLimits& limits, TokenCollector& tokens) const {
  if (options.special_tokens == SpecialTokensInText::kAllow) {
    tokens.Append(std::move(ids));
    return;
  }
  for (const TokenId id : ids) {
    if (!EscapedSpelling(id).empty()) {
      tokens.Poll();
      AddEscaped(id, limits, tokens);
    } else {
      tokens.Add(id);
    }
  }
}

/// Adds a token. If the token has an escaped spelling, adds instead the tokens of the spelling's
/// first character and of its rest. A token of one character stays, because its text cannot be cut.
/// Each cut shortens the spelling. So if an odd normalization turns a part into a token with a
/// longer spelling, that token is left out.
void Tokenizer::AddEscaped(TokenId id, const EncodeLimits& limits, TokenCollector& tokens) const {
  const std::string_view text = EscapedSpelling(id);
  const std::size_t first = text.empty() ? 0 : FirstCodePoint(text).length;
  if (first == text.size()) {
    tokens.Add(id);
    return;
  }
  for (const std::string_view part : {text.substr(0, first), text.substr(first)}) {
    for (const TokenId part_id :
         EncodeWhole(part, {.at_start = false, .special_tokens = SpecialTokensInText::kEscape},
                     limits.Uncounted())) {
      if (EscapedSpelling(part_id).size() < text.size()) {
        AddEscaped(part_id, limits, tokens);
      }
    }
  }
}

std::vector<TokenId> Tokenizer::EncodeWithAdded(std::string_view text,
                                                const EncodeOptions& options) const {
  std::vector<TokenId> ids = added_prefix();
  const std::vector<TokenId> encoded = Encode(text, options);
  ids.insert(ids.end(), encoded.begin(), encoded.end());
  ids.insert(ids.end(), added_suffix().begin(), added_suffix().end());
  return ids;
}

std::optional<TokenId> Tokenizer::SingleToken(std::string_view text) const {
  if (const std::optional<TokenId> special = SplitToken(text)) {
    return special;
  }
  const std::vector<TokenId> ids = Encode(text);
  return ids.size() == 1 ? std::optional(ids.front()) : std::nullopt;
}

std::unique_ptr<Tokenizer> LoadTokenizer(const std::filesystem::path& model_dir,
                                         std::string_view templates, std::int64_t embedding_rows) {
  const std::filesystem::path json_file = model_dir / "tokenizer.json";
  const std::filesystem::path model_file = model_dir / "tokenizer.model";
  const std::filesystem::path vocab_file = model_dir / "vocab.txt";
  TokenizerConfig config = LoadTokenizerConfig(model_dir);
  config.chat_templates += templates;
  config.embedding_rows = embedding_rows;
  const SentenceBertConfig sentence_config = LoadSentenceBertConfig(model_dir);
  const auto read = [&](nlohmann::json document, const std::filesystem::path& file) {
    if (sentence_config.do_lower_case) {
      PutLowercaseFirst(document);
    }
    return ReadTokenizerJson(document, config, file.string());
  };
  std::unique_ptr<Tokenizer> tokenizer;
  std::optional<TruncationSide> side = config.truncation_side;
  const bool is_json = ModelFileExists(json_file);
  if (is_json) {
    nlohmann::json document = ParseJsonFile(ReadModelFile(json_file), json_file.string());
    if (config.add_prefix_space) {
      SetAddPrefixSpace(*config.add_prefix_space, document);
    }
    if (config.tokenizer_class.HasBertSwitches()) {
      SetBertSwitches(config, document);
    }
    const auto own_side = TruncationSideOf(JsonCursor(document, json_file.string()));
    side = side ? side : own_side;
    tokenizer = read(std::move(document), json_file);
  } else if (ModelFileExists(model_file)) {
    if (sentence_config.do_lower_case) {
      throw proto::StartupError(sentence_config.origin +
                                ": do_lower_case: not supported with a tokenizer.model");
    }
    tokenizer = std::make_unique<SentencePieceTokenizer>(ReadModelFile(model_file), config,
                                                         model_file.string());
  } else if (ModelFileExists(vocab_file)) {
    tokenizer = read(TokenizerJsonOfVocabTxt(model_dir), vocab_file);
  } else {
    return nullptr;
  }
  TextRules rules = tokenizer->rules();
  rules.truncation_side = side.value_or(rules.truncation_side);
  rules.gives_token_types = config.GivesTokenTypes();
  if (is_json) {
    AddNotes(config, *tokenizer, rules);
  }
  tokenizer->SetRules(std::move(rules));
  return tokenizer;
}

}  // namespace scorecast::coordinator
