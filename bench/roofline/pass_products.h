#pragma once

#include <cstdint>
#include <vector>

#include "proto/model/model_config.h"
#include "proto/model/partition.h"

namespace scorecast::bench {

/// y [rows, out] = x [rows, in] · Wᵀ
struct Product {
  std::int64_t rows = 0;
  std::int64_t out = 0;
  std::int64_t in = 0;

  double operations() const { return 2.0 * static_cast<double>(rows * out * in); }
};

/// One rank's products with weights in a plain pass over `rows` rows, `reads` of which get logits,
/// in order. Every layer is complete, although the engine skips most of the last layer for rows
/// that are not read. Products of which the rank owns nothing are left out, and so are those of a
/// ReadHead, which has one row for each text.
std::vector<Product> ProductsOfPass(const proto::ModelConfig& config,
                                    const proto::Partition& partition, std::int64_t rows,
                                    std::int64_t reads);

/// Bytes of the weights of a rank's products, if an element takes `layer_element` bytes in layers
/// and `lm_head_element` bytes in the lm-head.
double WeightBytes(const proto::ModelConfig& config, const proto::Partition& partition,
                   std::int64_t layer_element, std::int64_t lm_head_element);

double OperationsOf(const std::vector<Product>& products);

}  // namespace scorecast::bench
