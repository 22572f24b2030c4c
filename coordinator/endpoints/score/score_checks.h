#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/score/score_request.h"
#include "coordinator/request/labels.h"
#include "coordinator/request/request_context.h"
#include "coordinator/request/score_kind.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {

/// A score request that has passed all checks that need no tokens.
struct CheckedScore {
  const ScoreRequest& request;
  const LabelLists& labels;
  std::optional<TokenId> extraction_token;  ///< Set if the request is setwise.
  const RequestContext& context;
};

/// The first fault of the fields that can be found without tokenizing.
std::optional<proto::Error> FieldFault(const ScoreRequest& request, ScoreKind kind,
                                       const RequestContext& context);

/// The fault of a request that mixes text and ids, or whose text cannot be tokenized.
std::optional<proto::Error> TextOrIdsFault(const ScoreRequest& request,
                                           const RequestContext& context);

/// The fault of the query's own tokens: there are none, or the extraction token is among them.
std::optional<proto::Error> QueryFault(const std::vector<TokenId>& query,
                                       const std::optional<TokenId>& extraction_token);

/// `positions` says how many the query and item `item` have.
proto::Error TooManyPositions(const std::string& positions, std::size_t item);

}  // namespace scorecast::coordinator
