#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>

#include <cblas.h>

#include "bench/roofline/random_bytes.h"
#include "bench/roofline/raw_gemms.h"
#include "bench/roofline/weight_rings.h"

namespace scorecast::bench {
namespace {

std::vector<float> RandomFloats(std::int64_t count) {
  std::vector<float> floats(static_cast<std::size_t>(count));
  FillRandom("f32", std::as_writable_bytes(std::span(floats)));
  return floats;
}

class OpenBlasGemms : public RawGemms {
 public:
  explicit OpenBlasGemms(int threads) : threads_(threads) {}

  std::string Description() const override {
    return std::string("OpenBLAS ") + openblas_get_corename();
  }

  double Run(const std::vector<Product>& products) override {
    weights_.Prepare(products,
                     [](std::int64_t out, std::int64_t in) { return RandomFloats(out * in); });
    for (const Product& product : products) {
      if (input_.size() < static_cast<std::size_t>(product.rows * product.in)) {
        input_ = RandomFloats(product.rows * product.in);
      }
      output_.resize(
          std::max(output_.size(), static_cast<std::size_t>(product.rows * product.out)));
    }
    openblas_set_num_threads(threads_);
    const auto begin = std::chrono::steady_clock::now();
    for (const Product& product : products) {
      cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, static_cast<blasint>(product.rows),
                  static_cast<blasint>(product.out), static_cast<blasint>(product.in), 1.0F,
                  input_.data(), static_cast<blasint>(product.in), weights_.Next(product).data(),
                  static_cast<blasint>(product.in), 0.0F, output_.data(),
                  static_cast<blasint>(product.out));
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    openblas_set_num_threads(1);  // The engine's backend expects this.
    return seconds.count();
  }

 private:
  const int threads_;
  WeightRings<std::vector<float>> weights_;  // [out, in]
  std::vector<float> input_;
  std::vector<float> output_;
};

}  // namespace

std::unique_ptr<RawGemms> MakeOpenBlasGemms(int threads) {
  return std::make_unique<OpenBlasGemms>(threads);
}

}  // namespace scorecast::bench
