#include "coordinator/request/model_kind.h"

namespace scorecast::coordinator {

ModelKind KindOf(const proto::ModelConfig& config) {
  if (config.is_embedder()) {
    return ModelKind::kEmbedder;
  }
  if (!config.is_classifier()) {
    return ModelKind::kLanguageModel;
  }
  return config.read_head ? ModelKind::kEncoderClassifier : ModelKind::kClassifier;
}

std::string_view NameOf(ModelKind kind) {
  switch (kind) {
    case ModelKind::kLanguageModel:
      return "a language model";
    case ModelKind::kClassifier:
    case ModelKind::kEncoderClassifier:
      return "a classifier";
    case ModelKind::kEmbedder:
      return "an embedding model";
  }
  return "";
}

}  // namespace scorecast::coordinator
