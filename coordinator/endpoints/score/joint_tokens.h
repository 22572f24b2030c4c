#pragma once

#include <optional>
#include <vector>

#include "coordinator/endpoints/score/score_request.h"
#include "coordinator/request/request_context.h"
#include "coordinator/text/continued_text.h"

namespace scorecast::coordinator {

/// The tokens of an item in multi-item mode.
struct ItemTokens {
  std::vector<TokenId> ids;
  /// False if `ids` follow the query's tokens. True if they are those of query and item, which do
  /// not begin with the query's tokens because some of them merge across the border.
  bool include_query = false;
};

/// Tokenizes the query and the items of a request that has no TextOrIdsFault. The query is encoded
/// once. The tokens of an item depend on query and item alone.
class JointTokens {
 public:
  /// Both must outlive this object.
  JointTokens(const ScoreRequest& request, const RequestContext& context);

  /// From the start of a text: BOS if the tokenizer adds one, then the query.
  const std::vector<TokenId>& query() const;

  ItemTokens Item(const TextOrIds& item) const;

  /// Query and item as one prompt, or item and query if the request has `item_first`.
  std::vector<TokenId> Prompt(const TextOrIds& item) const;

 private:
  const ScoreRequest& request_;
  const RequestContext& context_;
  std::optional<ContinuedText> continued_query_;  ///< Set if items are text and continue the query.
  std::vector<TokenId> query_;                    ///< Used if `continued_query_` is not set.
};

}  // namespace scorecast::coordinator
