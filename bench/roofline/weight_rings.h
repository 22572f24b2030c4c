#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "bench/roofline/pass_products.h"

namespace scorecast::bench {

/// Weights for products, shared by those of one shape: as many as a list of products has of it, but
/// only a few layers', used in turns, which do not stay in a cache either.
template <typename Weight>
class WeightRings {
 public:
  /// make(out, in) gives a weight.
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
