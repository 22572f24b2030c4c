#include "bench/raw_gemms.h"

#include <algorithm>
#include <chrono>

#include <cblas.h>

namespace scorecast::bench {
namespace {

/// So many layers' weights do not stay in a cache.
constexpr std::int64_t kDistinctLayers = 4;

}  // namespace

RawGemms::RawGemms(const proto::ModelConfig& config, const proto::Partition& partition, int threads)
    : layers_(config.num_hidden_layers), threads_(threads) {
  const std::int64_t h = config.hidden_size;
  const std::int64_t q = partition.heads.size() * config.head_dim;
  const std::int64_t kv = partition.kv_heads.size() * config.head_dim;
  const std::int64_t i = partition.intermediate.size();
  const auto weight = [](std::int64_t out, std::int64_t in) {
    return Weight{out, in, std::vector<float>(static_cast<std::size_t>(out * in), 0.5F)};
  };
  for (std::int64_t layer = 0; layer < std::min(layers_, kDistinctLayers); ++layer) {
    layer_weights_.push_back({weight(q + 2 * kv, h), weight(h, q), weight(2 * i, h), weight(h, i)});
  }
  lm_head_ = weight(partition.vocabulary.size(), h);
}

void RawGemms::Multiply(const Weight& weight, std::int64_t rows) {
  input_.resize(std::max(input_.size(), static_cast<std::size_t>(rows * weight.in)), 0.25F);
  output_.resize(std::max(output_.size(), static_cast<std::size_t>(rows * weight.out)));
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(rows),
              static_cast<blasint>(weight.out), static_cast<blasint>(weight.in), 1.0F,
              input_.data(), static_cast<blasint>(weight.in), weight.values.data(),
              static_cast<blasint>(weight.in), 0.0F, output_.data(),
              static_cast<blasint>(weight.out));
}

double RawGemms::Run(std::int64_t rows, std::int64_t reads) {
  openblas_set_num_threads(threads_);
  const auto begin = std::chrono::steady_clock::now();
  for (std::int64_t layer = 0; layer < layers_; ++layer) {
    for (const Weight& weight :
         layer_weights_[static_cast<std::size_t>(layer) % layer_weights_.size()]) {
      Multiply(weight, rows);
    }
  }
  Multiply(lm_head_, reads);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  openblas_set_num_threads(1);  // As the engine's backend wants it.
  return seconds.count();
}

double RawGemms::Operations(std::int64_t rows, std::int64_t reads) const {
  double layer = 0;
  for (const Weight& weight : layer_weights_.front()) {
    layer += 2.0 * static_cast<double>(weight.out * weight.in);
  }
  return layer * static_cast<double>(layers_ * rows) +
         2.0 * static_cast<double>(lm_head_.out * lm_head_.in * reads);
}

}  // namespace scorecast::bench
