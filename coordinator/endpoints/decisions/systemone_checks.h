#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/decisions/decider.h"
#include "coordinator/request/request_context.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::v1 {
class NamedQuestion;
class SystemOneRequest;
class TextOrJson;
}  // namespace scorecast::v1

namespace scorecast::coordinator {

/// A question that has passed all checks that need no tokens. Its views are of the request, or of
/// `texts`.
struct CheckedQuestion {
  std::string field;  ///< Names it in errors: "questions.ID".
  DecisionType type = DecisionType::kNoul;
  std::string_view instructions;
  std::vector<DecisionOption> options;
  std::vector<std::unique_ptr<const std::string>> texts;  ///< JSON as the template shows it.
};

/// The first fault of the request that is not one of its state or a question.
std::optional<proto::Error> RequestFault(const v1::SystemOneRequest& request,
                                         const RequestContext& context);

/// The text of a state; `rendered` keeps it if the request has it as JSON.
proto::Expected<std::string_view> StateText(const v1::TextOrJson& state, const Decider& decider,
                                            std::string& rendered);

proto::Expected<CheckedQuestion> CheckQuestion(const v1::NamedQuestion& question,
                                               const Decider& decider, bool has_orders);

}  // namespace scorecast::coordinator
