#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

#include "bench/kernels/kernel_cases.h"
#include "bench/roofline/random_bytes.h"

namespace scorecast::bench {
namespace {

constexpr std::int64_t kElementRows = 8;
constexpr std::int64_t kWidth = 3072;
constexpr std::int64_t kHeadDim = 128;

struct Arrays {
  Arrays() : a(kElementRows * kWidth), b(a.size()), out(a.size()), bits(a.size()), bytes(a.size()) {
    RandomNumbers random;
    std::generate(a.begin(), a.end(), [&] { return random.Next(); });
    std::generate(b.begin(), b.end(), [&] { return random.Next(); });
  }

  std::vector<float> a;
  std::vector<float> b;
  std::vector<float> out;
  std::vector<std::uint16_t> bits;
  std::vector<std::uint8_t> bytes;
};

/// A kernel for row(arrays, first), where `first` is the index of a row's first element.
template <typename Row>
KernelCase Case(std::string name, Row row) {
  return {std::move(name), [row] {
            auto arrays = std::make_shared<Arrays>();
            return KernelRun{.elements = static_cast<double>(kElementRows * kWidth),
                             .run = [row, arrays] {
                               for (std::int64_t i = 0; i < kElementRows; ++i) {
                                 row(*arrays, i * kWidth);
                               }
                             }};
          }};
}

}  // namespace

std::vector<KernelCase> ElementCases(const shard::Kernels& kernels) {
  const shard::Kernels* k = &kernels;
  return {
      Case("rms_norm",
           [k](Arrays& x, std::int64_t at) {
             k->rms_norm(&x.a[at], x.b.data(), kWidth, 1e-5F, &x.out[at]);
           }),
      Case("add", [k](Arrays& x, std::int64_t at) { k->add(&x.a[at], kWidth, &x.out[at]); }),
      Case("swiglu",
           [k](Arrays& x, std::int64_t at) {
             k->silu.gated(&x.a[at], &x.b[at], kWidth, &x.out[at]);
           }),
      Case("geglu",
           [k](Arrays& x, std::int64_t at) {
             k->gelu_tanh.gated(&x.a[at], &x.b[at], kWidth, &x.out[at]);
           }),
      Case("soft_cap", [k](Arrays& x, std::int64_t at) { k->soft_cap(30.0F, kWidth, &x.a[at]); }),
      Case("rope",
           [k](Arrays& x, std::int64_t at) {
             // Any numbers will do as cosines and sines, because they are below 1.
             for (std::int64_t head = 0; head < kWidth; head += kHeadDim) {
               k->rope(x.b.data(), x.b.data() + kHeadDim / 2, kHeadDim, &x.a[at + head]);
             }
           }),
      Case("max_and_sum_exp",
           [k](Arrays& x, std::int64_t at) {
             float maximum = 0;
             double sum = 0;
             k->max_and_sum_exp(&x.a[at], kWidth, &maximum, &sum);
             x.out[at] = maximum + static_cast<float>(sum);
           }),
      Case("to_bf16",
           [k](Arrays& x, std::int64_t at) { k->to_bf16(&x.a[at], kWidth, &x.bits[at]); }),
      Case("add_bf16",
           [k](Arrays& x, std::int64_t at) { k->add_bf16(&x.bits[at], kWidth, &x.out[at]); }),
      Case("rotate", [k](Arrays& x, std::int64_t at) { k->rotate(&x.a[at], kWidth); }),
      Case("quantize",
           [k](Arrays& x, std::int64_t at) {
             x.out[at] = k->quantize(&x.a[at], kWidth, &x.bytes[at]);
           }),
  };
}

}  // namespace scorecast::bench
