#include "coordinator/endpoints/decisions/systemone_readout.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "coordinator/decisions/decision_formulas.h"
#include "coordinator/request/request_error.h"
#include "coordinator/request/row_scores.h"
#include "proto/http_responses.pb.h"
#include "proto/scorecast.pb.h"

namespace scorecast::coordinator {
namespace {

using proto::RowLogits;
using Question = SystemOneReadout::Question;

/// Number of options, levels or outcomes.
std::size_t SizeOf(const Question& question) {
  return question.type == DecisionType::kNoul ? 2 : question.texts.size();
}

bool IsFinite(const RowLogits& row) {
  return std::ranges::all_of(row.label_logits, [](float logit) { return std::isfinite(logit); });
}

/// The probabilities of a question's answers; nothing if a logit is not finite.
std::optional<std::vector<double>> Probabilities(const Question& question, const JobRows& rows,
                                                 const Decider& decider) {
  const std::size_t size = SizeOf(question);
  if (question.rows.empty()) {
    return std::vector<double>(size, 1.0);
  }
  std::vector<double> log_probabilities;
  for (std::size_t order = 0; order < question.rows.size(); ++order) {
    const RowLogits& row = rows[question.rows[order].sequence][question.rows[order].read];
    if (!IsFinite(row)) {
      return std::nullopt;
    }
    std::vector<double> of_order =
        LabelLogProbabilities(row.label_logits, decider.labels().Spellings(question.type),
                              decider.temperatures().Of(question.type, size));
    if (order == 0) {
      log_probabilities = std::move(of_order);
      continue;
    }
    if (question.type == DecisionType::kChoice) {
      std::ranges::reverse(of_order);  // The labels of a noul stay with their outcomes.
    }
    log_probabilities = MeanLogProbabilities(log_probabilities, of_order);
  }
  return ProbabilitiesOf(log_probabilities);
}

void SetAnswer(Question& question, const std::vector<double>& probabilities,
               v1::DecisionAnswer& answer) {
  answer.set_type(std::string(NameOf(question.type)));
  if (question.type == DecisionType::kNoul) {
    answer.set_noul(probabilities.front());
    return;
  }
  answer.mutable_probabilities()->Assign(probabilities.begin(), probabilities.end());
  if (question.type == DecisionType::kChoice) {
    answer.set_choice(question.texts[LargestOf(probabilities)]);
    answer.set_confidence(ChoiceConfidence(probabilities));
    for (std::string& name : question.texts) {
      answer.add_names(std::move(name));
    }
    return;
  }
  answer.set_score(ExpectedLevel(probabilities));
  answer.set_confidence(ScoreConfidence(probabilities));
  for (std::size_t i = 0; i < question.texts.size(); ++i) {
    answer.add_legend(std::move(question.texts[i]));
    answer.add_names(std::to_string(i));
  }
}

}  // namespace

proto::Expected<std::unique_ptr<EndpointResponse>> SystemOneReadout::Respond(const JobRows& rows) {
  auto response = std::make_unique<v1::SystemOneResponse>();
  const DecisionTemperatures& temperatures = decider->temperatures();
  response->add_temperatures(temperatures.noul);
  for (const double temperature : temperatures.choice) {
    response->add_temperatures(temperature);
  }
  response->add_temperatures(temperatures.score);
  response->mutable_answers()->Reserve(static_cast<int>(questions.size()));
  for (Question& question : questions) {
    const std::optional<std::vector<double>> probabilities =
        Probabilities(question, rows, *decider);
    if (!probabilities) {
      return proto::Unexpected(NotFinite(question.field));
    }
    v1::DecisionAnswer& answer = *response->add_answers();
    SetAnswer(question, *probabilities, answer);
    if (has_label_mass && !question.rows.empty()) {
      double mass = 0;
      for (const Row& row : question.rows) {
        mass +=
            LabelMass(rows[row.sequence][row.read + 1]) / static_cast<double>(question.rows.size());
      }
      if (!std::isfinite(mass)) {
        return proto::Unexpected(NotFinite(question.field));
      }
      answer.set_x_label_mass(mass);
    }
    response->add_ids(std::move(question.id));
  }
  return std::make_unique<EndpointResponse>(std::move(response), v1::SystemOneBody::descriptor());
}

}  // namespace scorecast::coordinator
