#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "bench/roofline/pass_products.h"

namespace scorecast::bench {

/// Weights for products. Products of one shape share up to four weights, which are used in turns,
/// so that they do not stay in a cache.
template <typename Weight>
class WeightRings {
 public:
  /// Makes the weights that the products need with make(out, in).
  template <typename Make>
  void Prepare(const std::vector<Product>& products, Make make) {
    constexpr std::size_t kMost = 4;
    std::map<Shape, std::size_t> counts;
    for (const Product& product : products) {
      const Shape shape{product.out, product.in};
      std::vector<Weight>& weights = rings_[shape].weights;
      if (weights.size() < std::min(++counts[shape], kMost)) {
        weights.push_back(make(product.out, product.in));
      }
    }
  }

  const Weight& Next(const Product& product) {
    Ring& ring = rings_[{product.out, product.in}];
    return ring.weights[ring.next++ % ring.weights.size()];
  }

 private:
  using Shape = std::pair<std::int64_t, std::int64_t>;  // out, in
  struct Ring {
    std::vector<Weight> weights;
    std::size_t next = 0;
  };

  std::map<Shape, Ring> rings_;
};

}  // namespace scorecast::bench
