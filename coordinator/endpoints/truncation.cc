#include "coordinator/endpoints/truncation.h"

#include <algorithm>
#include <utility>

#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "proto/base/count.h"
#include "proto/base/letter_case.h"

namespace scorecast::coordinator {

proto::Expected<Truncation::Side> SideOf(const std::optional<std::string>& given,
                                         const RequestContext& context) {
  if (!given) {
    return context.tokenizer != nullptr ? context.tokenizer->rules().truncation_side
                                        : Truncation::Side::kRight;
  }
  const std::string direction = proto::ToLower(*given);
  if (direction == "right") {
    return Truncation::Side::kRight;
  }
  if (direction == "left") {
    return Truncation::Side::kLeft;
  }
  return proto::Unexpected(
      BadRequest("unknown_truncation_direction",
                 "truncation_direction must be left or right, not " + Quoted(*given) + ".",
                 "truncation_direction"));
}

proto::Expected<std::optional<Truncation::Side>> CutOf(const std::string& truncate,
                                                       const std::string& field) {
  const std::string name = proto::ToLower(truncate);
  if (name == "start") {
    return std::optional(Truncation::Side::kLeft);
  }
  if (name == "end") {
    return std::optional(Truncation::Side::kRight);
  }
  if (name == "none") {
    return std::optional<Truncation::Side>();
  }
  return proto::Unexpected(
      BadRequest("unknown_truncate",
                 field + " must be NONE, START or END, not " + Quoted(truncate) + ".", field));
}

proto::Expected<bool> CutsDocuments(const std::string& truncate, const std::string& field) {
  const proto::Expected<std::optional<Truncation::Side>> cut = CutOf(truncate, field);
  if (!cut) {
    return proto::Unexpected(BadRequest(
        "unknown_truncate", field + " must be NONE or END, not " + Quoted(truncate) + ".", field));
  }
  if (*cut == Truncation::Side::kLeft) {
    return proto::Unexpected(BadRequest(
        "not_supported",
        field + " must be NONE or END, not START. truncate=true with truncation_direction=left "
                "cuts the start of documents.",
        field));
  }
  return cut->has_value();
}

std::string CutHint(const std::string& field) {
  return field.empty() ? "" : " To have texts cut, set " + field + ".";
}

std::optional<proto::Error> TruncatePromptTokensFault(std::int64_t tokens) {
  if (tokens == -1 || tokens > 0) {
    return std::nullopt;
  }
  return BadRequest(
      "truncate_prompt_tokens_out_of_range",
      "truncate_prompt_tokens must be -1 or at least 1, not " + std::to_string(tokens) + ".",
      "truncate_prompt_tokens");
}

proto::Expected<Truncation::Strategy> StrategyOf(const std::string& name) {
  if (name == "longest_first") {
    return Truncation::Strategy::kLongestFirst;
  }
  if (name == "only_first") {
    return Truncation::Strategy::kOnlyFirst;
  }
  if (name == "only_second") {
    return Truncation::Strategy::kOnlySecond;
  }
  return proto::Unexpected(
      BadRequest("unknown_truncation_strategy",
                 "truncation_strategy must be longest_first, only_second or only_first, not " +
                     Quoted(name) + ".",
                 "truncation_strategy"));
}

Truncation::Strategy UsualStrategy(const RequestContext& context) {
  const std::string& name = context.options.transformer.truncation;
  return name.empty() ? Truncation::Strategy::kLongestFirst : StrategyOf(name).value();
}

proto::Expected<Truncation> TruncationOf(const WholeTextCut& cut, const RequestContext& context) {
  Truncation truncation = {.max_length = MostTextTokens(context),
                           .strategy = UsualStrategy(context)};
  if (auto fault = TruncatePromptTokensFault(cut.truncate_prompt_tokens)) {
    return proto::Unexpected(*std::move(fault));
  }
  if (cut.truncate_prompt_tokens > 0) {
    truncation.max_length = std::min(truncation.max_length, cut.truncate_prompt_tokens);
  }
  const proto::Expected<Truncation::Side> side = SideOf(cut.direction, context);
  if (!side) {
    return proto::Unexpected(side.error());
  }
  truncation.side = *side;
  if (cut.strategy) {
    const proto::Expected<Truncation::Strategy> strategy = StrategyOf(*cut.strategy);
    if (!strategy) {
      return proto::Unexpected(strategy.error());
    }
    truncation.strategy = *strategy;
  }
  if (!cut.truncate) {
    truncation.strategy = Truncation::Strategy::kNone;
  }
  return truncation;
}

std::int64_t MostTextTokens(const RequestContext& context) {
  return std::min(context.options.max_text_tokens, context.config.max_position_embeddings);
}

proto::Error NotRendered(const std::string& why, const std::string& field) {
  return BadRequest("not_rendered", "The chat template cannot render " + field + ": " + why + ".",
                    field);
}

proto::Error PairError(const TypedFault& fault, const std::string& first_field,
                       const std::string& field, const std::string& cut_field) {
  const bool is_of_first = fault.text == 0;
  const std::string& at_fault = is_of_first ? first_field : field;
  constexpr int kTooLarge = 413;
  const auto too_long = [&](const std::string& length) {
    const std::string who = fault.text == TypedFault::kAll
                                ? first_field + " and " + field + " together have "
                                : at_fault + " has ";
    return proto::Error{kTooLarge, is_of_first ? "query_too_long" : "document_too_long",
                        who + length + ", of which " + std::to_string(fault.max_length) +
                            " are allowed." + CutHint(cut_field),
                        at_fault};
  };
  switch (fault.kind) {
    case TypedFault::Kind::kEncode:
      return EncodeError(fault.encode, too_long("more than " + proto::Count(fault.length, "token")),
                         at_fault);
    case TypedFault::Kind::kTooLong:
      return too_long(proto::Count(fault.length, "token"));
    case TypedFault::Kind::kNotRendered:
      return NotRendered(fault.why, field);
    case TypedFault::Kind::kNoRoom:
      break;
  }
  return BadRequest("query_too_long",
                    first_field + " and " + field + " cannot be cut to " +
                        proto::Count(fault.max_length, "token") +
                        " in this way: " + std::to_string(fault.length) + " or more are left.",
                    first_field);
}

}  // namespace scorecast::coordinator
