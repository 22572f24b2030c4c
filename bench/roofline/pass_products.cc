#include "bench/roofline/pass_products.h"

namespace scorecast::bench {

std::vector<Product> ProductsOfPass(const proto::ModelConfig& config,
                                    const proto::Partition& partition, std::int64_t rows,
                                    std::int64_t reads) {
  const std::int64_t h = config.hidden_size;
  const std::int64_t q = partition.heads.size() * config.head_dim;
  const std::int64_t kv = partition.kv_heads.size() * config.head_dim;
  const std::int64_t i = partition.intermediate.size();
  const std::int64_t up = config.gated_feedforward ? 2 * i : i;
  std::vector<Product> products;
  for (std::int64_t layer = 0; layer < config.num_hidden_layers(); ++layer) {
    products.insert(products.end(),
                    {{rows, q + 2 * kv, h}, {rows, h, q}, {rows, up, h}, {rows, h, i}});
  }
  if (!config.read_head) {
    products.push_back({reads, partition.vocabulary.size(), h});
  }
  std::erase_if(products, [](const Product& p) { return p.operations() == 0; });
  return products;
}

double WeightBytes(const proto::ModelConfig& config, const proto::Partition& partition,
                   std::int64_t layer_element, std::int64_t lm_head_element) {
  const double layers = OperationsOf(ProductsOfPass(config, partition, 1, 0)) / 2;
  const double lm_head = OperationsOf(ProductsOfPass(config, partition, 1, 1)) / 2 - layers;
  return layers * static_cast<double>(layer_element) +
         lm_head * static_cast<double>(lm_head_element);
}

double OperationsOf(const std::vector<Product>& products) {
  double operations = 0;
  for (const Product& product : products) {
    operations += product.operations();
  }
  return operations;
}

}  // namespace scorecast::bench
