#include "shard/linear/arithmetic.h"

#include <algorithm>

#include "proto/base/check.h"
#include "shard/linear/onednn_backend.h"

namespace scorecast::shard {

ArithmeticChoice ChooseArithmetic(std::span<const BackendEntry> table, Precision precision,
                                  const BackendSupport& supports) {
  const auto first = [&](Precision of_products) {
    const auto found = std::ranges::find_if(
        table, [&](const BackendEntry& entry) { return supports(entry, of_products); });
    proto::Check(found != table.end(), "no backend supports the precision");
    return &*found;
  };
  ArithmeticChoice choice;
  choice.layers = precision;
  choice.layer_backend = first(precision);
  choice.lm_head = precision;
  choice.lm_head_backend = choice.layer_backend;
  if (precision == Precision::kInt8) {
    choice.lm_head = Precision::kBfloat16;
    choice.lm_head_backend = first(Precision::kBfloat16);
    // The last backend would widen bfloat16 to float32 in each product.
    if (choice.lm_head_backend == &table.back()) {
      choice.lm_head = Precision::kFloat32;
      choice.lm_head_backend = first(Precision::kFloat32);
    }
  }
  return choice;
}

ArithmeticChoice ChooseArithmetic(Precision precision, InstructionSet set) {
  return ChooseArithmetic(Backends(), precision,
                          [&](const BackendEntry& backend, Precision of_products) {
                            return backend.supports(of_products, set);
                          });
}

ArithmeticChoice ChooseArithmeticOfEngine(InstructionSet set, std::optional<Precision> precision,
                                          const std::function<bool(bool here)>& on_every_rank) {
  if (set != DetectInstructionSet()) {
    LimitOneDnn(set);
  }
  return ChooseArithmetic(Backends(), precision.value_or(DefaultPrecision(set)),
                          [&](const BackendEntry& backend, Precision of_products) {
                            return on_every_rank(backend.supports(of_products, set));
                          });
}

Arithmetic::Arithmetic(const Kernels& kernels, const ArithmeticChoice& choice, int threads)
    : choice_(choice),
      attention_(choice.layers == Precision::kFloat32 ? kernels.attention_f32
                                                      : kernels.attention_bf16) {
  const BackendEntry& last = Backends().back();
  GemmBackend* fallback = (backends_[&last] = last.make(kernels, threads, nullptr)).get();
  for (const BackendEntry* entry : {choice.layer_backend, choice.lm_head_backend}) {
    if (!backends_.contains(entry)) {
      backends_[entry] = entry->make(kernels, threads, fallback);
    }
  }
}

std::string Arithmetic::Description() {
  std::string text(Name(choice_.layers));
  text += " by " + std::string(choice_.layer_backend->name) + " " +
          layer_backend().Description(choice_.layers);
  if (choice_.lm_head != choice_.layers) {
    text += ", lm-head " + std::string(Name(choice_.lm_head));
  }
  return text;
}

}  // namespace scorecast::shard
