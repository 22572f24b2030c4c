#include "coordinator/text/files/collect_added_tokens.h"

#include <optional>
#include <string>
#include <unordered_set>

#include "coordinator/text/files/read_added_tokens.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

using proto::TokenId;
using IdBySpelling = std::unordered_map<std::string_view, TokenId>;

std::vector<AddedToken> ReadTokens(const JsonCursor& root, IdBySpelling& ids) {
  std::vector<AddedToken> tokens;
  const std::optional<JsonCursor> list = root.Find("added_tokens");
  if (!list) {
    return tokens;
  }
  std::unordered_map<TokenId, std::string_view> added;
  list->ForEachElement([&](const JsonCursor& entry) {
    const std::string& text = entry.At("content").String();
    AddedToken token = ReadAddedToken(entry);
    if (text.empty()) {
      return;  // The reference ignores such tokens, too.
    }
    const auto known = ids.emplace(text, token.id).first;
    if (known->second != token.id) {
      entry.Fail(Quoted(text) + " already has the id " + std::to_string(known->second));
    }
    const auto [other, is_new] = added.emplace(token.id, text);
    if (!is_new) {
      entry.Fail("the id " + std::to_string(token.id) + " already belongs to " +
                 Quoted(other->second));
    }
    tokens.push_back(std::move(token));
  });
  return tokens;
}

void AddConfigured(const TokenizerConfig& config, IdBySpelling& ids,
                   std::vector<AddedToken>& tokens) {
  std::unordered_set<std::string> known;
  for (const AddedToken& token : tokens) {
    known.insert(token.content);
  }
  std::unordered_map<TokenId, std::string_view> texts;
  for (const AddedToken& token : config.added_tokens) {
    if (token.content.empty() || !known.insert(token.content).second) {
      continue;
    }
    if (texts.empty()) {
      for (const auto& [text, id] : ids) {
        texts.emplace(id, text);
      }
    }
    const auto [entry, is_new] = ids.emplace(token.content, token.id);
    if (is_new) {
      const auto [other, is_free] = texts.emplace(token.id, token.content);
      if (!is_free) {
        throw proto::StartupError(config.added_tokens_origin + ": the id of the added token " +
                                  Quoted(token.content) + ", " + std::to_string(token.id) +
                                  ", already belongs to " + Quoted(other->second));
      }
    }
    tokens.push_back(token);
    tokens.back().id = entry->second;
  }
}

}  // namespace

std::vector<AddedToken> CollectAddedTokens(const JsonCursor& root, const TokenizerConfig& config,
                                           IdBySpelling& ids) {
  std::vector<AddedToken> tokens = ReadTokens(root, ids);
  AddConfigured(config, ids, tokens);
  for (AddedToken& token : tokens) {
    config.MarkEscapable(token);
  }
  return tokens;
}

}  // namespace scorecast::coordinator
