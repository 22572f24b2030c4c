#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "proto/model/token_id.h"

namespace scorecast::coordinator {

/// What a tokenizer's own rule puts around a text, or around the two texts of a pair.
struct TokenTemplate {
  /// A token that is added, or the place of a text, with the type that its tokens get.
  struct Part {
    enum class Kind : std::uint8_t { kToken, kFirst, kSecond };

    Kind kind = Kind::kToken;
    proto::TokenId id = -1;  ///< With kToken only.
    std::uint8_t type = 0;

    friend bool operator==(const Part&, const Part&) = default;
  };
  using Parts = std::vector<Part>;

  Parts single = {{.kind = Part::Kind::kFirst}};  ///< Has the first text once.
  /// Has both texts once, in any order.
  Parts pair = {{.kind = Part::Kind::kFirst}, {.kind = Part::Kind::kSecond, .type = 1}};

  /// The tokens before and behind a single text.
  std::vector<proto::TokenId> Prefix() const {
    return Tokens(single.begin(), std::ranges::find(single, Part::Kind::kFirst, &Part::kind));
  }
  std::vector<proto::TokenId> Suffix() const {
    return Tokens(std::ranges::find(single, Part::Kind::kFirst, &Part::kind), single.end());
  }

  /// The same places of texts, with the same types, without any token.
  TokenTemplate WithoutTokens() const {
    TokenTemplate bare = *this;
    for (Parts* parts : {&bare.single, &bare.pair}) {
      std::erase_if(*parts, [](const Part& part) { return part.kind == Part::Kind::kToken; });
    }
    return bare;
  }

  /// How many tokens are added.
  static std::int64_t AddedTokens(const Parts& parts) {
    return std::ranges::count(parts, Part::Kind::kToken, &Part::kind);
  }

  /// The template of a tokenizer that puts `prefix` and `suffix` around each text of a pair, too.
  /// The tokens of the second text, and those around it, have the type 1.
  static TokenTemplate AroundEach(const std::vector<proto::TokenId>& prefix,
                                  const std::vector<proto::TokenId>& suffix) {
    TokenTemplate around{.single = {}, .pair = {}};
    const auto add = [&](Part::Kind text, std::uint8_t type, Parts& parts) {
      for (const proto::TokenId id : prefix) {
        parts.push_back({.id = id, .type = type});
      }
      parts.push_back({.kind = text, .type = type});
      for (const proto::TokenId id : suffix) {
        parts.push_back({.id = id, .type = type});
      }
    };
    add(Part::Kind::kFirst, 0, around.single);
    around.pair = around.single;
    add(Part::Kind::kSecond, 1, around.pair);
    return around;
  }

 private:
  static std::vector<proto::TokenId> Tokens(Parts::const_iterator begin,
                                            Parts::const_iterator end) {
    std::vector<proto::TokenId> ids;
    for (; begin != end; ++begin) {
      if (begin->kind == Part::Kind::kToken) {
        ids.push_back(begin->id);
      }
    }
    return ids;
  }
};

}  // namespace scorecast::coordinator
