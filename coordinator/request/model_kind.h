#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "proto/model/model_config.h"

namespace scorecast::coordinator {

/// What a model computes of a text, which decides what can be asked of it.
enum class ModelKind : std::uint8_t {
  kLanguageModel,      ///< Logits of the next token.
  kClassifier,         ///< Logits of classes, of any row of a causal model.
  kEncoderClassifier,  ///< Logits of classes, of a whole text or of a pair.
  kEmbedder,           ///< A vector.
};

ModelKind KindOf(const proto::ModelConfig& config);

/// "a language model"
std::string_view NameOf(ModelKind kind);

/// A set of kinds.
class ModelKinds {
 public:
  constexpr ModelKinds(std::initializer_list<ModelKind> kinds) {
    for (const ModelKind kind : kinds) {
      bits_ |= Bit(kind);
    }
  }
  static constexpr ModelKinds All() {
    return {ModelKind::kLanguageModel, ModelKind::kClassifier, ModelKind::kEncoderClassifier,
            ModelKind::kEmbedder};
  }

  constexpr ModelKinds operator|(ModelKinds other) const {
    other.bits_ |= bits_;
    return other;
  }
  constexpr bool Has(ModelKind kind) const { return (bits_ & Bit(kind)) != 0; }

 private:
  static constexpr unsigned Bit(ModelKind kind) { return 1U << static_cast<unsigned>(kind); }

  unsigned bits_ = 0;
};

}  // namespace scorecast::coordinator
