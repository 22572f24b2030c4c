#include "coordinator/endpoints/completions/completion_logprobs.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "coordinator/generate/text_stream.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using Entry = std::pair<TokenId, double>;

/// The entries of a token's place: the best ones, and its own if it is not among them.
std::vector<Entry> EntriesOf(const ScoredToken& token, std::int64_t most) {
  const std::size_t size = std::min(token.best.size(), static_cast<std::size_t>(most));
  const auto end = token.best.begin() + static_cast<std::ptrdiff_t>(size);
  std::vector<Entry> entries(token.best.begin(), end);
  if (std::ranges::find(entries, token.id, &Entry::first) == entries.end()) {
    entries.emplace_back(token.id, token.logprob);
  }
  return entries;
}

void AddPlace(std::string spelling, std::int64_t text_offset, v1::CompletionLogprobs& message) {
  message.add_tokens(std::move(spelling));
  message.add_text_offset(static_cast<std::int32_t>(text_offset));
}

/// Fills a ChatTokenLogprob or a ChatLogprob.
template <typename Message>
void SetLogprob(TokenId id, double logprob, const TokenTexts& texts, Message& message) {
  std::string bytes = texts.BytesOf(id);
  for (const char byte : bytes) {
    message.add_bytes(static_cast<unsigned char>(byte));
  }
  message.set_token(texts.SpellingOf(id, std::move(bytes)));
  message.set_logprob(logprob);
}

}  // namespace

void AddLogprobs(const ScoredToken& token, std::int64_t most, const TokenTexts& texts,
                 v1::CompletionLogprobs& message) {
  const std::vector<Entry> entries = EntriesOf(token, most);
  // The token itself comes first, so that no other one takes its spelling.
  std::vector<TokenId> ids = {token.id};
  for (const auto& [id, logprob] : entries) {
    if (id != token.id) {
      ids.push_back(id);
    }
  }
  std::vector<std::string> spellings = texts.DistinctSpellingsOf(ids);
  v1::SpelledLogprobs& top = *message.add_top_logprobs();
  std::size_t other = 0;
  for (const auto& [id, logprob] : entries) {
    top.add_tokens(id == token.id ? spellings.front() : std::move(spellings[++other]));
    top.add_logprobs(logprob);
  }
  message.add_token_logprobs()->set_value(token.logprob);
  AddPlace(std::move(spellings.front()), token.text_offset, message);
}

void AddLogprobs(const ScoredToken& token, std::int64_t most, const TokenTexts& texts,
                 v1::ChatLogprobs& message) {
  v1::ChatTokenLogprob& place = *message.add_content();
  SetLogprob(token.id, token.logprob, texts, place);
  for (const auto& [id, logprob] : token.best) {
    if (place.top_logprobs_size() < most) {
      SetLogprob(id, logprob, texts, *place.add_top_logprobs());
    }
  }
}

void AddUnscored(TokenId id, std::int64_t text_offset, const TokenTexts& texts,
                 v1::CompletionLogprobs& message) {
  message.add_token_logprobs();
  message.add_top_logprobs();
  AddPlace(texts.SpellingOf(id), text_offset, message);
}

void AddRanked(const ScoredToken& token, std::int64_t most, const TokenTexts& texts,
               v1::RankedTokens& message) {
  for (const auto& [id, logprob] : EntriesOf(token, most)) {
    const std::int64_t place = message.tokens_size();
    message.add_ids(std::to_string(id));
    v1::RankedToken& entry = *message.add_tokens();
    entry.set_logprob(logprob);
    // Behind the best there is only the token itself.
    entry.set_rank(place < std::min(std::ssize(token.best), most) ? place + 1 : token.rank);
    entry.set_decoded_token(texts.SpellingOf(id));
  }
}

void AddPromptReads(const PromptRows& read, proto::PackedSequence& prompt) {
  const auto labels = static_cast<std::int32_t>(prompt.label_lists.size());
  prompt.label_lists.push_back(read.named);
  const std::vector<TokenId> tokens = prompt.AllTokens();
  for (auto i = static_cast<std::size_t>(read.first); i + 1 < tokens.size(); ++i) {
    proto::RowRead& of_row = prompt.reads.emplace_back(ScoringRead(tokens[i + 1], read.best));
    of_row.row = static_cast<std::int32_t>(i);
    of_row.label_list = labels;
    of_row.ranks_target = read.ranks;
  }
}

std::optional<std::vector<ScoredToken>> ScorePrompt(std::span<const TokenId> tokens,
                                                    const PromptRows& read,
                                                    std::span<const proto::RowLogits> rows) {
  std::vector<ScoredToken> scored;
  for (const proto::RowLogits& row : rows) {
    const TokenId id = tokens[static_cast<std::size_t>(read.first) + 1 + scored.size()];
    if (!IsRowFinite(row)) {
      return std::nullopt;
    }
    scored.push_back(*ScoreToken(id, read.best, ScoringRead(id, read.best), row));
  }
  return scored;
}

std::vector<std::int64_t> TextOffsets(const EchoedPrompt& prompt) {
  std::vector<std::int64_t> offsets(prompt.tokens.size());
  if (prompt.tokenizer == nullptr) {
    return offsets;
  }
  TextStream stream(*prompt.tokenizer, {});
  std::int64_t characters = 0;
  for (std::size_t i = 0; i < prompt.tokens.size(); ++i) {
    offsets[i] = std::min(characters, prompt.echoed_characters);
    const TokenId id = prompt.tokens[i];
    // A text is repeated as it was given, without the BOS that was added.
    const bool has_text = prompt.is_text
                              ? i > 0 || prompt.tokenizer->bos() != id
                              : !prompt.skip_special_tokens || !prompt.tokenizer->IsSpecial(id);
    if (has_text) {
      characters += CountCharacters(stream.Push(id));
    }
  }
  return offsets;
}

}  // namespace scorecast::coordinator
