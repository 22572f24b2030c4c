#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coordinator/endpoints/score/score_request.h"
#include "coordinator/prompts/prompt_packer.h"
#include "coordinator/request/request_context.h"
#include "coordinator/text/continued_text.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {

/// Tokenizes the query and the items of a request that has no TextOrIdsFault. The query is encoded
/// once. The tokens of an item depend on query and item alone. Texts with more tokens than allowed
/// are dropped early; ids are as many as they are.
class JointTokens {
 public:
  /// `most` is how many tokens the query may have. Request and context must outlive the result.
  static proto::Expected<JointTokens, EncodeFault> Make(const ScoreRequest& request,
                                                        const RequestContext& context,
                                                        std::int64_t most);

  /// From the start of a text: BOS if the tokenizer adds one, then the query.
  const std::vector<TokenId>& query() const;

  /// `most` is how many tokens query and item may have together.
  proto::Expected<Continuation, EncodeFault> Item(const TextOrIds& item, std::int64_t most) const;

  /// Query and item as one prompt of at most `most` tokens, or item and query if the request has
  /// `item_first`.
  proto::Expected<std::vector<TokenId>, EncodeFault> Prompt(const TextOrIds& item,
                                                            std::int64_t most) const;

 private:
  JointTokens(const ScoreRequest& request, const RequestContext& context)
      : request_(request), context_(context) {}

  EncodeLimits Limits(std::int64_t most) const {
    return {.max_tokens = most, .stop = context_.stop};
  }

  const ScoreRequest& request_;
  const RequestContext& context_;
  std::optional<ContinuedText> continued_query_;  ///< Set if items are text and continue the query.
  std::vector<TokenId> query_;                    ///< Used if `continued_query_` is not set.
};

}  // namespace scorecast::coordinator
