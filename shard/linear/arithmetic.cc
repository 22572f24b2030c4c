#include "shard/linear/arithmetic.h"

#include <algorithm>
#include <utility>

#include "proto/base/check.h"
#include "proto/base/count.h"
#include "shard/linear/onednn_backend.h"

namespace scorecast::shard {

namespace {

using enum CpuFeature;

/// See bench/README.md for the measurements. CPUs without products of bfloat16 widen it, which is
/// never faster than float32.
constexpr std::pair<CpuFeatures, Precision> kDefaultPrecisions[] = {
    {{kAvx512Bf16}, Precision::kBfloat16},
    {{}, Precision::kFloat32},
};

/// E.g. " 4 8", or " 1-128" for all numbers between.
std::string Text(const std::vector<std::int64_t>& heights) {
  std::string text;
  for (std::size_t begin = 0, end = 0; begin < heights.size(); begin = end) {
    end = begin + 1;
    while (end < heights.size() && heights[end] == heights[end - 1] + 1) {
      ++end;
    }
    if (end - begin < 3) {
      end = begin + 1;
    }
    text += " " + std::to_string(heights[begin]);
    text += end - begin == 1 ? "" : "-" + std::to_string(heights[end - 1]);
  }
  return text;
}

}  // namespace

Precision DefaultPrecision(CpuFeatures features) {
  return std::ranges::find_if(kDefaultPrecisions,
                              [&](const auto& entry) { return features.Contain(entry.first); })
      ->second;
}

ProductPrecisions PrecisionsFor(Precision layers, CpuFeatures features) {
  return {layers, layers == Precision::kInt8 ? DefaultPrecision(features) : layers};
}

ArithmeticChoice ChooseArithmetic(std::span<const BackendEntry> table, ProductPrecisions precisions,
                                  const BackendSupport& uncached_supports) {
  std::map<std::pair<const BackendEntry*, Precision>, bool> known;
  const auto supports = [&](const BackendEntry& entry, Precision of_products) {
    const auto [found, is_new] = known.try_emplace({&entry, of_products});
    if (is_new) {
      found->second = uncached_supports(entry, of_products);
    }
    return found->second;
  };
  const auto first = [&](Precision of_products) {
    const auto found = std::ranges::find_if(
        table, [&](const BackendEntry& entry) { return supports(entry, of_products); });
    proto::Check(found != table.end(), "no backend supports the precision");
    return &*found;
  };
  ArithmeticChoice choice;
  choice.layers = precisions.layers;
  choice.layer_backend = first(choice.layers);
  choice.lm_head = precisions.lm_head;
  choice.lm_head_backend = first(choice.lm_head);
  choice.fallbacks.clear();
  for (const BackendEntry& entry : table) {
    if (supports(entry, choice.layers) && supports(entry, choice.lm_head)) {
      choice.fallbacks.push_back(&entry);
    }
  }
  return choice;
}

ArithmeticChoice ChooseArithmetic(Precision layers, CpuFeatures features) {
  return ChooseArithmetic(Backends(), PrecisionsFor(layers, features),
                          [&](const BackendEntry& backend, Precision of_products) {
                            return backend.supports(of_products, features);
                          });
}

ArithmeticChoice ChooseArithmeticOfEngine(CpuFeatures features, std::optional<Precision> layers,
                                          const std::function<bool(bool here)>& on_every_rank) {
  if (features != DetectCpuFeatures()) {
    LimitOneDnn(features);
  }
  return ChooseArithmetic(Backends(),
                          PrecisionsFor(layers.value_or(DefaultPrecision(features)), features),
                          [&](const BackendEntry& backend, Precision of_products) {
                            return on_every_rank(backend.supports(of_products, features));
                          });
}

std::string RoundingLibrary(const ArithmeticChoice& choice, bool has_lm_head) {
  const bool layers_round = choice.layers != Precision::kInt8;
  if (!layers_round && !has_lm_head) {
    return "";
  }
  const BackendEntry& entry = layers_round ? *choice.layer_backend : *choice.lm_head_backend;
  std::string text(entry.name);
  if (entry.variant != nullptr) {
    text += " " + entry.variant(layers_round ? choice.layers : choice.lm_head);
  }
  return text;
}

Arithmetic::Arithmetic(const Kernels& kernels, const ArithmeticChoice& choice, int threads)
    : choice_(choice),
      attention_(choice.layers == Precision::kFloat32 ? kernels.attention_f32
                                                      : kernels.attention_bf16) {
  Make(choice.layer_backend, kernels, threads);
  Make(choice.lm_head_backend, kernels, threads);
}

GemmBackend* Arithmetic::Make(const BackendEntry* entry, const Kernels& kernels, int threads) {
  if (!backends_.contains(entry)) {
    // All entries are in one table, so a larger address means a later entry.
    const auto next = std::ranges::find_if(
        choice_.fallbacks, [&](const BackendEntry* fallback) { return fallback > entry; });
    GemmBackend* fallback =
        next == choice_.fallbacks.end() ? nullptr : Make(*next, kernels, threads);
    backends_[entry] = entry->make(kernels, threads, fallback);
  }
  return backends_.at(entry).get();
}

std::string Arithmetic::Description() const {
  std::string text(Name(choice_.layers));
  text += " by " + std::string(choice_.layer_backend->name) + " " +
          BackendOf(choice_.layer_backend).Description(choice_.layers);
  if (choice_.lm_head != choice_.layers) {
    text += ", lm-head " + std::string(Name(choice_.lm_head));
    if (choice_.lm_head_backend != choice_.layer_backend) {
      text += " by " + std::string(choice_.lm_head_backend->name) + " " +
              BackendOf(choice_.lm_head_backend).Description(choice_.lm_head);
    }
  }
  return text;
}

std::string Arithmetic::Heights() const {
  return "layers" + Text(BackendOf(choice_.layer_backend).Heights(choice_.layers)) + ", lm-head" +
         Text(BackendOf(choice_.lm_head_backend).Heights(choice_.lm_head));
}

std::string Arithmetic::Warning() const {
  const auto warning = [&](const char* of_what, Precision precision, const BackendEntry* entry) {
    if (entry != &Backends().back()) {
      return std::string();
    }
    const std::string begin =
        std::string(Name(precision)) + " products" + of_what +
        " have no kernel with these instructions: " + std::string(entry->name);
    if (precision == Precision::kBfloat16) {
      return begin +
             " widens weights and activations to float32 for each product, which takes "
             "longer than --dtype f32";
    }
    const std::vector<std::int64_t> heights = BackendOf(entry).Heights(precision);
    if (heights.empty() || heights.back() == kMostTileRows) {
      return std::string();
    }
    return begin + " computes " + proto::Count(heights.back(), "row") +
           " at a time and packs the weights again each time, which is slow";
  };
  const std::string of_layers = warning("", choice_.layers, choice_.layer_backend);
  return of_layers.empty() ? warning(" of the lm-head", choice_.lm_head, choice_.lm_head_backend)
                           : of_layers;
}

}  // namespace scorecast::shard
