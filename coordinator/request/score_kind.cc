#include "coordinator/request/score_kind.h"

#include "coordinator/request/request_error.h"

namespace scorecast::coordinator {
namespace {

using proto::Expected;
using proto::Unexpected;

std::optional<ScoreKind> KindOfActivation(const std::string& activation) {
  if (activation == "none") {
    return ScoreKind::kLogit;
  }
  if (activation == "softmax") {
    return ScoreKind::kSoftmax;
  }
  if (activation == "sigmoid") {
    return ScoreKind::kSigmoid;
  }
  return std::nullopt;
}

}  // namespace

Expected<ScoreKind> ResolveScoreKind(const std::optional<std::string>& activation,
                                     bool apply_softmax, const proto::ModelConfig& config) {
  const std::string field = "activation";
  if (!config.is_classifier()) {
    if (activation) {
      return Unexpected(OnlyForClassifiers(field));
    }
    return apply_softmax ? ScoreKind::kSoftmax : ScoreKind::kProbability;
  }
  if (!activation) {
    return apply_softmax ? ScoreKind::kSoftmax : ScoreKind::kLogit;
  }
  const std::optional<ScoreKind> kind = KindOfActivation(*activation);
  if (!kind) {
    return Unexpected(BadRequest(
        "unknown_activation",
        R"(activation must be "none", "softmax" or "sigmoid", not )" + Quoted(*activation) + ".",
        field));
  }
  if (apply_softmax && kind != ScoreKind::kSoftmax) {
    return Unexpected(BadRequest(
        "contradictory_activation",
        "activation " + Quoted(*activation) + " contradicts apply_softmax=True.", field));
  }
  return *kind;
}

ScoreKind KindOfClasses(const proto::ModelConfig& config, bool is_raw) {
  using proto::ProblemType;
  if (is_raw || config.problem_type == ProblemType::kRegression) {
    return ScoreKind::kLogit;
  }
  return config.problem_type == ProblemType::kMultiLabel || config.num_labels == 1
             ? ScoreKind::kSigmoid
             : ScoreKind::kSoftmax;
}

}  // namespace scorecast::coordinator
