#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "coordinator/prompts/item_prompts.h"
#include "coordinator/text/tokenizer.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// A text, or token ids. No token is ever added to ids.
using TextOrTokens = std::variant<std::string_view, std::span<const TokenId>>;

/// How a query and its items become tokens.
struct JointOptions {
  const Tokenizer* tokenizer = nullptr;  ///< Null if the query and all items are ids.
  SpecialTokensInText special_tokens = SpecialTokensInText::kAllow;
  /// An item has the tokens that it has in the joint text. Otherwise it is encoded alone.
  bool items_continue_query = false;
  bool item_first = false;                     ///< In prompts, the query follows the item.
  const Interruption* interruption = nullptr;  ///< See EncodeLimits.
};

/// The tokens of a query with its items, all of which are text, or all ids. The query is encoded
/// once. The tokens of an item depend on query and item alone. Texts with more tokens than allowed
/// are dropped early; ids are as many as they are.
class JointTokens {
 public:
  /// `most` is how many tokens the query may have. What `query` refers to must outlive the result.
  static proto::Expected<JointTokens, EncodeFault> Make(TextOrTokens query,
                                                        const JointOptions& options,
                                                        std::int64_t most);

  /// From the start of a text: BOS if the tokenizer adds one, then the query.
  const std::vector<TokenId>& query() const { return query_; }

  /// The item behind the query. `most` is how many tokens both may have together.
  proto::Expected<Continuation, EncodeFault> Item(TextOrTokens item, std::int64_t most) const;

  /// Query and item as one prompt of at most `most` tokens.
  proto::Expected<Continuation, EncodeFault> Prompt(TextOrTokens item, std::int64_t most) const;

 private:
  JointTokens(TextOrTokens query, const JointOptions& options) : given_(query), options_(options) {}

  EncodeLimits Limits(std::int64_t most) const {
    return {.max_tokens = most, .interruption = options_.interruption};
  }
  proto::Expected<std::vector<TokenId>, EncodeFault> FromStart(std::string_view text,
                                                               std::int64_t most) const;
  proto::Expected<std::vector<TokenId>, EncodeFault> Alone(std::string_view text,
                                                           const EncodeLimits& limits) const;

  TextOrTokens given_;
  JointOptions options_;
  std::vector<TokenId> query_;
  std::optional<ItemPrompts> continued_query_;  ///< Set if items are text and continue the query.
};

}  // namespace scorecast::coordinator
