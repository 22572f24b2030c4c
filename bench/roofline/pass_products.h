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

/// The products with weights of a plain pass over `rows` rows, of which `reads` get logits, in
/// order: every layer whole. (The engine spares most of the last layer of rows that are not read.)
/// One rank's; what it owns nothing of is left out.
std::vector<Product> ProductsOfPass(const proto::ModelConfig& config,
                                    const proto::Partition& partition, std::int64_t rows,
                                    std::int64_t reads);

/// Elements of the weights of a rank's products, the lm-head's among them.
double WeightElements(const proto::ModelConfig& config, const proto::Partition& partition);

/// Bytes of those weights, where an element of a layer's and of the lm-head's takes so many.
double WeightBytes(const proto::ModelConfig& config, const proto::Partition& partition,
                   std::int64_t layer_element, std::int64_t lm_head_element);

double OperationsOf(const std::vector<Product>& products);

}  // namespace scorecast::bench
