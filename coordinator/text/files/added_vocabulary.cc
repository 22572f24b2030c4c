#include "coordinator/text/files/added_vocabulary.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "coordinator/text/files/read_added_tokens.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

using proto::StartupError;
using proto::TokenId;

void AddedVocabulary::AddFromFiles(const JsonCursor& root) {
  if (const std::optional<JsonCursor> list = root.Find("added_tokens")) {
    AddOfTokenizerJson(*list);
  }
  AddConfigured();
}

void AddedVocabulary::AddOfTokenizerJson(const JsonCursor& list) {
  // The ids that the list gives, and their texts.
  std::unordered_map<std::string_view, TokenId> ids;
  std::unordered_map<TokenId, std::string_view> texts;
  list.ForEachElement([&](const JsonCursor& entry) {
    const std::string& text = entry.At("content").String();
    AddedToken token = ReadAddedToken(entry);
    if (text.empty()) {
      return;  // The reference ignores such tokens, too.
    }
    const auto [listed, is_first] = ids.emplace(text, token.id);
    const auto in_model = is_first ? ids_.find(text) : ids_.end();
    const TokenId known = in_model != ids_.end() ? in_model->second : listed->second;
    if (known != token.id) {
      entry.Fail(Quoted(text) + " already has the id " + std::to_string(known));
    }
    const auto [other, is_new] = texts.emplace(token.id, text);
    if (!is_new && other->second != text) {
      entry.Fail("the id " + std::to_string(token.id) + " already belongs to " +
                 Quoted(other->second));
    }
    Add(text, std::move(token));
  });
}

void AddedVocabulary::AddConfigured() {
  std::vector<const AddedToken*> missing;
  for (const AddedToken& token : config_.added_tokens) {
    if (!token.content.empty() && !added_.contains(token.content)) {
      missing.push_back(&token);
    }
  }
  if (missing.empty()) {
    return;
  }
  std::ranges::stable_sort(missing, {}, [](const AddedToken* token) { return token->id; });
  std::unordered_map<TokenId, std::string_view> texts;
  for (const auto& [text, id] : ids_) {
    texts.emplace(id, text);
  }
  for (const AddedToken* token : missing) {
    if (!ids_.contains(token->content)) {
      const auto [other, is_free] = texts.emplace(token->id, token->content);
      if (!is_free) {
        throw StartupError(config_.added_tokens_origin + ": the id of the added token " +
                           Quoted(token->content) + ", " + std::to_string(token->id) +
                           ", already belongs to " + Quoted(other->second));
      }
    }
    Add(token->content, *token);
  }
}

void AddedVocabulary::AddNamed() {
  for (const NamedSpecialToken& named : config_.special_tokens) {
    const std::string& text = named.token.content;
    if (text.empty() || added_.contains(text)) {
      continue;
    }
    if (!ids_.contains(text) && next_id_ >= config_.embedding_rows) {
      left_out_ = named.origin + ": " + Quoted(text) +
                  " is plain text, because neither tokenizer nor model has such a token";
    } else {
      Add(text, named.token);
    }
  }
}

TokenId AddedVocabulary::Add(std::string_view text, AddedToken token) {
  const TokenId id = ids_.emplace(text, next_id_).first->second;
  if (token.id >= 0 && token.id != id && ++renumbered_ == 1) {
    first_renumbered_ = "the added token " + Quoted(text) + " has the id " + std::to_string(id) +
                        " and not " + std::to_string(token.id);
  }
  token.id = id;
  next_id_ = std::max(next_id_, id + 1);
  config_.MarkEscapable(token);
  const auto [entry, is_new] = added_.emplace(text, tokens_.size());
  if (is_new) {
    tokens_.push_back(std::move(token));
  } else {
    tokens_[entry->second] = std::move(token);
  }
  return id;
}

std::string AddedVocabulary::note() const {
  if (renumbered_ == 0) {
    return left_out_;
  }
  const std::string others =
      renumbered_ > 1 ? ", and " + std::to_string(renumbered_ - 1) + " more" : "";
  return first_renumbered_ + others + ": ids are those of tokenizers' Tokenizer.from_file";
}

std::vector<AddedToken> AddedVocabulary::Take() && { return std::move(tokens_); }

}  // namespace scorecast::coordinator
