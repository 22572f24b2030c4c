#include "coordinator/endpoints/decisions/systemone_checks.h"

#include <array>
#include <cstdint>
#include <unordered_set>
#include <utility>

#include "coordinator/json/body_members.h"
#include "coordinator/json/json_text.h"
#include "coordinator/request/request_checks.h"
#include "coordinator/request/request_error.h"
#include "coordinator/text/unicode/unicode_classes.h"
#include "coordinator/text/unicode/utf8.h"
#include "proto/base/count.h"
#include "proto/base/one_line.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::Error;
using proto::Expected;
using proto::Unexpected;

/// Upper bound on the texts, lists and objects of a value. With more, it would have more tokens
/// than models have positions.
constexpr std::int64_t kMaxJsonValues = 1 << 18;

Error WrongText(const std::string& field) {
  return BadRequest("wrong_type", field + " must be a string, an object or a list.", field);
}

/// The text of a value: nothing if it is absent or null.
Expected<std::optional<std::string>> JsonText(const v1::TextOrJson& value, const std::string& field,
                                              const Decider& decider) {
  const std::string& json = value.json();
  if (json == "null" || value.value_case() == v1::TextOrJson::VALUE_NOT_SET) {
    return std::optional<std::string>();
  }
  if (json.empty() || (json.front() != '{' && json.front() != '[')) {
    return Unexpected(WrongText(field));
  }
  // A message may have anything as JSON: what a body may not have, and spaces.
  const Expected<BodyJson> parsed = ParseJson(json, kMaxJsonValues);
  if (!parsed) {
    return Unexpected(Error{.code = parsed.error().code,
                            .reason = parsed.error().reason,
                            .message = field + ": " + parsed.error().message,
                            .param = field});
  }
  if (std::optional<Error> fault = DuplicateKeyFault(*parsed, field)) {
    return Unexpected(*std::move(fault));
  }
  std::optional<std::string> text = decider.Rendered(CompactJson(*parsed));
  if (!text) {
    return Unexpected(Error{413, "json_too_long",
                            field + " has more than " +
                                proto::Count(Decider::kMostRenderedBytes, "byte") +
                                " with the spaces that the template puts into it.",
                            field});
  }
  return text;
}

class QuestionCheck {
 public:
  QuestionCheck(const v1::NamedQuestion& question, const Decider& decider, bool has_orders)
      : question_(question.value()), decider_(decider), has_orders_(has_orders) {
    checked_.field = "questions." + proto::OneLine(question.key());
  }

  Expected<CheckedQuestion> Check() && {
    std::optional<Error> fault = CheckType();
    fault = fault ? fault : CheckInstructions();
    fault = fault ? fault : CheckCriteria();
    if (fault) {
      return Unexpected(*std::move(fault));
    }
    return std::move(checked_);
  }

 private:
  std::string CriteriaField() const { return checked_.field + ".criteria"; }

  std::optional<Error> CheckType() {
    for (const DecisionType type :
         {DecisionType::kNoul, DecisionType::kChoice, DecisionType::kScore}) {
      if (question_.type() == NameOf(type)) {
        checked_.type = type;
        if (type == DecisionType::kScore && has_orders_) {
          return BadRequest("not_supported",
                            "x_orders must be 1 if there is a score, because the order of its "
                            "levels is its scale: " +
                                checked_.field + ".",
                            "x_orders");
        }
        return std::nullopt;
      }
    }
    const std::string field = checked_.field + ".type";
    return BadRequest("unknown_type",
                      field + " must be noul, choice or score, not " + Quoted(question_.type()) +
                          "." + (question_.type() == "box" ? " This server sees no images." : ""),
                      field);
  }

  /// Reads a text. It must be there if `is_required`.
  std::optional<Error> Read(const v1::TextOrJson& value, const std::string& field, bool is_required,
                            std::string_view& text) {
    if (value.has_text()) {
      if (!IsValidUtf8(value.text())) {
        return InvalidUtf8(field);
      }
      text = value.text();
      return std::nullopt;
    }
    Expected<std::optional<std::string>> json = JsonText(value, field, decider_);
    if (!json) {
      return json.error();
    }
    if (*json) {
      checked_.texts.push_back(std::make_unique<const std::string>(**std::move(json)));
      text = *checked_.texts.back();
    } else if (is_required) {
      return WrongText(field);
    }
    return std::nullopt;
  }

  std::optional<Error> CheckInstructions() {
    return Read(question_.instructions(), checked_.field + ".instructions",
                /*is_required=*/false, checked_.instructions);
  }

  std::optional<Error> CheckCriteria() {
    const v1::DecisionCriteria& criteria = question_.criteria();
    const bool is_absent = criteria.value_case() == v1::DecisionCriteria::VALUE_NOT_SET;
    switch (checked_.type) {
      case DecisionType::kNoul:
        return !is_absent && !criteria.has_options() ? WrongCriteria("an object")
                                                     : CheckOutcomes(criteria.options());
      case DecisionType::kChoice:
        return criteria.has_options() ? CheckOptions(criteria.options())
                                      : WrongCriteria("an object of options");
      case DecisionType::kScore:
        break;
    }
    return criteria.has_levels() ? CheckLevels(criteria.levels())
                                 : WrongCriteria("a list of levels");
  }

  Error WrongCriteria(const std::string& wanted) const {
    return BadRequest("wrong_type",
                      CriteriaField() + " of a " + std::string(NameOf(checked_.type)) +
                          " must be " + wanted + ".",
                      CriteriaField());
  }

  std::optional<Error> CheckOutcomes(const v1::DecisionOptions& outcomes) {
    constexpr std::array<std::string_view, 2> kOutcomes = {"true", "false"};
    checked_.options.resize(2);
    bool is_described = !WithoutLeadingSpace(checked_.instructions).empty();
    for (const v1::DecisionOption& outcome : outcomes.options()) {
      const std::string field = CriteriaField() + "." + proto::OneLine(outcome.key());
      const auto* found = std::ranges::find(kOutcomes, outcome.key());
      if (found == kOutcomes.end()) {
        return BadRequest("unknown_field",
                          field + " is neither true nor false, which are the outcomes of a noul.",
                          field);
      }
      std::string_view& text =
          checked_.options[static_cast<std::size_t>(found - kOutcomes.begin())].description;
      if (auto fault = Read(outcome.value(), field, /*is_required=*/false, text)) {
        return fault;
      }
      is_described = is_described || !WithoutLeadingSpace(text).empty();
    }
    if (!is_described) {
      return BadRequest("no_question",
                        "A noul must have instructions or criteria: " + checked_.field + ".",
                        checked_.field);
    }
    return std::nullopt;
  }

  std::optional<Error> CountFault(int given, std::size_t most, const std::string& what) const {
    if (given == 0) {
      return BadRequest("no_" + what,
                        "A " + std::string(NameOf(checked_.type)) + " must have at least one " +
                            what + ": " + checked_.field + ".",
                        CriteriaField());
    }
    const std::size_t of_model = decider_.labels().Most(checked_.type);
    const std::size_t limit = std::min(most, of_model);
    if (static_cast<std::size_t>(given) <= limit) {
      return std::nullopt;
    }
    return BadRequest(
        "too_many_" + what + "s",
        "Too many " + what + "s: " + Exceeds(given, static_cast<std::int64_t>(limit)) + " (" +
            checked_.field + ")." +
            (of_model < most ? " The model has labels that are single tokens for no more." : ""),
        CriteriaField());
  }

  std::optional<Error> CheckOptions(const v1::DecisionOptions& options) {
    if (auto fault = CountFault(options.options_size(), kMaxOptions, "option")) {
      return fault;
    }
    std::unordered_set<std::string_view> seen;
    for (const v1::DecisionOption& option : options.options()) {
      const std::string field = CriteriaField() + "." + proto::OneLine(option.key());
      if (!IsValidUtf8(option.key())) {
        return InvalidUtf8(field);
      }
      if (!seen.insert(option.key()).second) {
        return BadRequest("duplicate_key", field + " is there twice.", field);
      }
      DecisionOption& checked = checked_.options.emplace_back();
      checked.name = option.key();
      if (auto fault = Read(option.value(), field, /*is_required=*/false, checked.description)) {
        return fault;
      }
    }
    return std::nullopt;
  }

  std::optional<Error> CheckLevels(const v1::DecisionLevels& levels) {
    if (auto fault = CountFault(levels.levels_size(), kMaxLevels, "level")) {
      return fault;
    }
    for (int i = 0; i < levels.levels_size(); ++i) {
      DecisionOption& checked = checked_.options.emplace_back();
      if (auto fault = Read(levels.levels(i), At(CriteriaField(), static_cast<std::size_t>(i)),
                            /*is_required=*/true, checked.description)) {
        return fault;
      }
    }
    return std::nullopt;
  }

  const v1::DecisionQuestion& question_;
  const Decider& decider_;
  const bool has_orders_;
  CheckedQuestion checked_;
};

}  // namespace

std::optional<Error> RequestFault(const v1::SystemOneRequest& request,
                                  const RequestContext& context) {
  if (context.options.decider == nullptr) {
    return BadRequest("no_decider", context.options.no_decider_reason, "");
  }
  if (request.x_orders() != 1 && request.x_orders() != 2) {
    return BadRequest("x_orders_out_of_range",
                      "x_orders must be 1 or 2, not " + std::to_string(request.x_orders()) + ".",
                      "x_orders");
  }
  if (request.questions().empty()) {
    return BadRequest("no_questions", "questions must have at least one question.", "questions");
  }
  const std::int64_t count = request.questions_size();
  if (count > context.options.max_questions) {
    return BadRequest("too_many_questions",
                      "Too many questions: " + Exceeds(count, context.options.max_questions) + ".",
                      "questions");
  }
  std::unordered_set<std::string_view> seen;
  for (const v1::NamedQuestion& question : request.questions()) {
    const std::string field = "questions." + proto::OneLine(question.key());
    if (!IsValidUtf8(question.key())) {
      return InvalidUtf8("questions");
    }
    if (!seen.insert(question.key()).second) {
      return BadRequest("duplicate_key", field + " is there twice.", field);
    }
  }
  return std::nullopt;
}

Expected<std::string_view> StateText(const v1::TextOrJson& state, const Decider& decider,
                                     std::string& rendered) {
  const std::string field = "state";
  if (state.has_text()) {
    if (!IsValidUtf8(state.text())) {
      return Unexpected(InvalidUtf8(field));
    }
    return std::string_view(state.text());
  }
  Expected<std::optional<std::string>> json = JsonText(state, field, decider);
  if (!json) {
    return Unexpected(json.error());
  }
  if (!*json) {
    return Unexpected(WrongText(field));
  }
  rendered = **std::move(json);
  return std::string_view(rendered);
}

Expected<CheckedQuestion> CheckQuestion(const v1::NamedQuestion& question, const Decider& decider,
                                        bool has_orders) {
  return QuestionCheck(question, decider, has_orders).Check();
}

}  // namespace scorecast::coordinator
