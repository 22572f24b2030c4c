#include "coordinator/text/pipeline_tokenizer.h"

#include <algorithm>
#include <utility>

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {

PipelineTokenizer::PipelineTokenizer(Parts parts)
    : parts_(std::move(parts)),
      added_prefix_(parts_.token_template.Prefix()),
      added_suffix_(parts_.token_template.Suffix()) {
  for (const AddedToken& token : parts_.added_tokens.tokens()) {
    if (token.special) {
      special_ids_.insert(token.id);
    }
  }
}

void PipelineTokenizer::EncodeText(std::string_view text, const EncodeOptions& options,
                                   TokenCollector& tokens) const {
  const auto encode = [&](std::string_view piece) {
    tokens.Poll();
    std::visit([&](const auto& model) { model.Encode(piece, tokens); }, parts_.model);
  };
  parts_.added_tokens.Cut(text, options, [&](const AddedTokens::Part& part) {
    if (part.id >= 0) {
      tokens.Poll();
      tokens.Add(part.id);
    } else {
      parts_.pre_tokenizer.Cut({.text = part.text, .first_bytes = part.first_bytes},
                               options.at_start, encode);
    }
  });
}

OpenEnd PipelineTokenizer::FindOpenEnd(std::string_view text, const EncodeOptions& options) const {
  if (!IsValidUtf8(text)) {
    return {};
  }
  OpenPiece piece{.text = OpenText::FromRaw(text), .is_first = !options.behind_token};
  parts_.added_tokens.GoToLast(options, piece);
  parts_.pre_tokenizer.GoToLast(piece, options.at_start);
  if (const auto* model = std::get_if<BpeModel>(&parts_.model)) {
    model->GoToLast(piece);
  }
  const std::int64_t least_tokens = std::visit(
      [&](const auto& model) {
        return model.LeastTokens(piece.text.text) + model.LeastTokens(piece.uncut);
      },
      parts_.model);
  return {.cut = piece.cut, .least_tokens = least_tokens};
}

std::string PipelineTokenizer::Decode(std::span<const TokenId> ids) const {
  std::vector<std::string> tokens;
  tokens.reserve(ids.size());
  for (const TokenId id : ids) {
    if (HasToken(id)) {
      tokens.push_back(parts_.spellings[id]);
    }
  }
  return parts_.decoder.Decode(std::move(tokens));
}

Tokenizer::TextState PipelineTokenizer::StateOf(TokenId id) const {
  if (parts_.decoder.HasByteLevel()) {
    return TextState::kCharacters;
  }
  if (!HasToken(id)) {
    return TextState::kAbsent;
  }
  return parts_.decoder.IsByte(parts_.spellings[id]) ? TextState::kOpen : TextState::kSettled;
}

std::vector<SpecialToken> PipelineTokenizer::special_tokens() const {
  std::vector<SpecialToken> tokens;
  for (const AddedToken& token : parts_.added_tokens.tokens()) {
    tokens.push_back({token.id, token.content, token.single_word, token.lstrip, token.rstrip});
  }
  std::sort(tokens.begin(), tokens.end(),
            [](const SpecialToken& a, const SpecialToken& b) { return a.id < b.id; });
  return tokens;
}

}  // namespace scorecast::coordinator
