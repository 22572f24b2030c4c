#pragma once

#include <optional>
#include <string>

#include "proto/base/expected.h"
#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// How the logits of a row's labels become the row's scores. The labels of a classifier are its
/// classes.
enum class ScoreKind {
  kProbability,  ///< Probabilities over the whole vocabulary.
  kSoftmax,      ///< Probabilities over the labels.
  kLogit,        ///< The logits themselves.
  kSigmoid,      ///< 1 / (1 + exp(-logit)), for each label by itself.
};

/// Returns what a request's `activation` and `apply_softmax` ask for. A language model gives
/// probabilities and has no `activation`. A classifier gives logits unless one of the two fields
/// says otherwise. A 400 if they contradict each other.
proto::Expected<ScoreKind> ResolveScoreKind(const std::optional<std::string>& activation,
                                            bool apply_softmax, const proto::ModelConfig& config);

/// How a classifier shows its classes where no field names an activation: as transformers'
/// text-classification pipeline does, by `problem_type` of config.json. Without one, several
/// classes have a softmax, and one has a sigmoid. `is_raw`: the request wants logits.
ScoreKind KindOfClasses(const proto::ModelConfig& config, bool is_raw);

}  // namespace scorecast::coordinator
