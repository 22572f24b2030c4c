#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/text/continued_text.h"
#include "coordinator/text/tokenizer.h"
#include "coordinator/text/typed_tokens.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// The tokens of an item's prompt.
struct Continuation {
  /// Those behind the prefix and `head`.
  std::vector<TokenId> ids;
  /// True if `head` and `ids` are a whole prompt, which the prefix is no part of: the item stands
  /// before the prefix, or some of its tokens merge with the prefix's.
  bool is_whole = false;
  /// If the item stands before what is the request's own: the item's tokens, which do not depend on
  /// the request. Empty otherwise.
  std::vector<TokenId> head;
};

/// How long an item may be, and what becomes of a longer one.
struct ItemLimits {
  std::int64_t max_item_tokens = EncodeLimits::kUnlimited;
  /// Of the whole prompt: the prefix, the item, and what follows it.
  std::int64_t max_prompt_tokens = EncodeLimits::kUnlimited;
  /// Where a longer item loses tokens; nullopt: it is a kTooManyTokens.
  std::optional<Truncation::Side> cut = Truncation::Side::kRight;
  const Interruption* interruption = nullptr;  ///< See EncodeLimits.
};

/// What the prompts of a request have in common.
struct PromptFrame {
  ContinuedText head;             ///< What stands before the item.
  std::size_t prefix_tokens = 0;  ///< The first of head.ids(). All, or those that are certain.
  bool is_item_first = false;     ///< The item stands before what is the request's own.
  /// The text behind the item, which is tokenized together with it. If `is_item_first`, `between`
  /// is its beginning as far as it is the same for all requests. Otherwise `between` is empty.
  std::string between;
  std::string behind;
  std::vector<TokenId> after;  ///< The tokens behind that text.
};

/// The prompts of the items of a request, whose tokens are those of the joint text. What stands
/// around the items is tokenized once. An item's tokens depend on the frame and that item alone.
/// Const methods may be called from several threads at the same time.
class ItemPrompts {
 public:
  /// `limits` bounds the tokens of a prompt without its item. `tokenizer` must outlive the result.
  static proto::Expected<ItemPrompts, EncodeFault> Make(const Tokenizer& tokenizer,
                                                        PromptFrame frame,
                                                        const EncodeLimits& limits = {});

  /// The tokens that all prompts begin with, unless some of an item's merge with them.
  const std::vector<TokenId>& prefix() const { return prefix_; }

  /// The prompt of an item, which must be valid UTF-8 and is cut if it is too long. kTooManyTokens
  /// also if the prompt does not even fit without its item.
  proto::Expected<Continuation, EncodeFault> Item(std::string_view item,
                                                  const ItemLimits& limits = {}) const;

  /// The prompt of an item that is not cut. `limits` bounds the tokens of the whole prompt.
  proto::Expected<Continuation, EncodeFault> Uncut(std::string_view item,
                                                   const EncodeLimits& limits = {}) const;

 private:
  ItemPrompts(const Tokenizer& tokenizer, PromptFrame frame)
      : tokenizer_(&tokenizer), frame_(std::move(frame)) {}

  proto::Expected<ContinuedText, EncodeFault> Block(std::string_view item,
                                                    const EncodeLimits& limits) const;
  proto::Expected<Continuation, EncodeFault> Cut(std::string_view item, std::int64_t item_tokens,
                                                 const ItemLimits& limits) const;
  Continuation Divide(std::vector<TokenId> item, std::vector<TokenId> rest) const;
  /// Number of tokens of the head behind its certain ones.
  std::size_t tail_tokens() const {
    return frame_.head.ids().size() - frame_.head.certain_tokens();
  }

  /// The tokens of `behind` together with the text before it that most items leave behind the last
  /// certain cut. They are not made again for each item.
  struct UsualRest {
    std::string tail;
    EncodeOptions options;
    std::vector<TokenId> ids;
  };

  const Tokenizer* tokenizer_;
  PromptFrame frame_;
  std::vector<TokenId> prefix_;
  std::vector<TokenId> after_cut_;  ///< What follows an item that is cut.
  std::optional<UsualRest> usual_rest_;
};

}  // namespace scorecast::coordinator
