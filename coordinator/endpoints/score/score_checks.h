#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/message_request.h"
#include "coordinator/prompts/joint_tokens.h"
#include "coordinator/request/labels.h"
#include "coordinator/request/request_context.h"
#include "coordinator/request/score_kind.h"
#include "coordinator/request/values.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::v1 {
class ScoreRequest;
}

namespace scorecast::coordinator {

/// A score request that has passed all checks that need no tokens.
struct CheckedScore {
  const v1::ScoreRequest& request;
  TextOrIds query;
  std::vector<TextOrIds> items;
  const LabelLists& labels;
  std::optional<TokenId> extraction_token;  ///< Set if the request is setwise.
  const RequestContext& context;
};

/// How the query and the items of a request without TextOrIdsFault become tokens.
JointOptions JointOptionsOf(const CheckedScore& checked);

/// The first fault of the fields that can be found without tokenizing.
std::optional<proto::Error> FieldFault(const MessageRequest<v1::ScoreRequest>& request,
                                       ScoreKind kind, const RequestContext& context);

/// The fault of a request that mixes text and ids, or whose text cannot be tokenized.
std::optional<proto::Error> TextOrIdsFault(const TextOrIds& query,
                                           const std::vector<TextOrIds>& items,
                                           const RequestContext& context);

/// The fault of the query's own tokens: there are none, or the extraction token is among them.
std::optional<proto::Error> QueryFault(const std::vector<TokenId>& query,
                                       const std::optional<TokenId>& extraction_token);

/// The fault of the tokens of a prompt, which consists of the query and item `item`.
std::optional<proto::Error> PromptFault(const std::vector<TokenId>& prompt, std::size_t item,
                                        const proto::ModelConfig& config);

/// The rows of item `item` that are read, counted from the first of its tokens: of a setwise
/// request those of each extraction token, of which there must be one. Otherwise empty, which is
/// its last.
proto::Expected<std::vector<std::int32_t>> RowsRead(const CheckedScore& checked, std::size_t item,
                                                    const std::vector<TokenId>& tokens);

/// `positions` says how many the query and item `item` have.
proto::Error TooManyPositions(const std::string& positions, std::size_t item);

}  // namespace scorecast::coordinator
