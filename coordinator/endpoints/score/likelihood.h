#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/endpoints/endpoint.h"
#include "coordinator/endpoints/message_request.h"
#include "coordinator/prompts/prompt_packer.h"
#include "coordinator/request/request_context.h"
#include "coordinator/request/values.h"
#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::v1 {
class ScoreRequest;
}

namespace scorecast::coordinator {

/// How the rows before the tokens of each item become the response of a request with `likelihood`.
struct LikelihoodReadout : Readout {
  struct Item {
    std::size_t sequence = 0;
    std::size_t first_read = 0;   ///< Of the sequence's reads.
    std::vector<TokenId> tokens;  ///< One for each of the item's reads.
    double divisor = 1;           ///< Of the sum of their log-probabilities.
  };

  std::vector<Item> items;

  /// If a number is not finite, the 500 "not_finite" names the item as its `param`.
  proto::Expected<std::unique_ptr<EndpointResponse>> Respond(const JobRows& rows) override;
  std::string Summary() const override { return proto::Count(Items(), "item"); }
  std::int64_t Items() const override { return static_cast<std::int64_t>(items.size()); }
};

/// The 400 of fields that contradict `likelihood`, or need it.
std::optional<proto::Error> LikelihoodFault(const MessageRequest<v1::ScoreRequest>& own,
                                            const RequestContext& context);

/// Says in the readout which reads are an item's, and moves the sequences into `prepared`.
void AddLikelihoods(PackedPrompts packed, const v1::ScoreRequest& request,
                    const RequestContext& context, LikelihoodReadout& readout,
                    PreparedRequest& prepared);

}  // namespace scorecast::coordinator
