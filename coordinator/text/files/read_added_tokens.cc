#include "coordinator/text/files/read_added_tokens.h"

#include <charconv>
#include <cstdint>
#include <string>
#include <system_error>

#include "coordinator/text/files/read_bpe_model.h"

namespace scorecast::coordinator {
namespace {

using proto::TokenId;

TokenId ReadId(const JsonCursor& id) { return static_cast<TokenId>(id.Integer(0, kMaxTokenId)); }

AddedToken ReadEntry(const JsonCursor& entry, TokenId id) {
  const bool special = entry.Flag("special", false);
  return {.id = id,
          .content = entry.At("content").String(),
          .special = special,
          .single_word = entry.Flag("single_word", false),
          .lstrip = entry.Flag("lstrip", false),
          .rstrip = entry.Flag("rstrip", false),
          .normalized = entry.Flag("normalized", !special)};
}

}  // namespace

AddedToken ReadAddedToken(const JsonCursor& entry) {
  return ReadEntry(entry, ReadId(entry.At("id")));
}

std::vector<AddedToken> ReadAddedTokensDecoder(const JsonCursor& decoder) {
  std::vector<AddedToken> tokens;
  decoder.ForEachMember([&](const std::string& name, const JsonCursor& entry) {
    TokenId id = -1;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
    if (error != std::errc() || end != name.data() + name.size() || id < 0 || id > kMaxTokenId) {
      entry.Fail("the name is not an id from 0 to " + std::to_string(kMaxTokenId));
    }
    tokens.push_back(ReadEntry(entry, id));
  });
  return tokens;
}

std::vector<AddedToken> ReadAddedTokensFile(const JsonCursor& root) {
  std::vector<AddedToken> tokens;
  root.ForEachMember([&](const std::string& text, const JsonCursor& id) {
    tokens.push_back({.id = ReadId(id), .content = text});
  });
  return tokens;
}

}  // namespace scorecast::coordinator
