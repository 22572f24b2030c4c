#include "shard/linear/backends.h"

#include <algorithm>
#include <type_traits>

#include "proto/base/check.h"
#include "shard/linear/onednn_backend.h"
#include "shard/linear/openblas_backend.h"
#include "shard/linear/packed_backend.h"

namespace scorecast::shard {
namespace {

using enum CpuFeature;
using enum Precision;

template <typename Backend>
std::unique_ptr<GemmBackend> Make(const Kernels& kernels, int threads, GemmBackend* fallback) {
  if constexpr (std::is_constructible_v<Backend, const Kernels&, int, GemmBackend&>) {
    proto::Check(fallback != nullptr, "a later backend has the engine's precisions");
    return std::make_unique<Backend>(kernels, threads, *fallback);
  } else {
    return std::make_unique<Backend>(kernels, threads);
  }
}

/// Without these features, oneDNN 2 emulates bfloat16, and adds pairs of int8 products in 16 bits,
/// which may overflow.
/// OneDNN's float32 also needs BF16 here, because float32 is the default only on CPUs without BF16.
/// These use our own products. They keep weights of 16 bits as they are, so decoding is twice as
/// fast, but many rows take 5 % longer. The products of oneDNN 3 for AVX2 are not faster than ours,
/// and in 3.2 a row's bits differ between 64 and 128 rows.
constexpr ProductNeeds kOneDnnProducts[] = {
    {kFloat32, {kAvx512Bf16}}, {kBfloat16, {kAvx512Bf16}}, {kInt8, {kAvx512Vnni}}};
/// Our own products. With AVX2 they are as fast as oneDNN 3 and LIBXSMM at every number of rows.
constexpr ProductNeeds kScorecastProducts[] = {
    {kFloat32, {kAvx2}}, {kBfloat16, {kAvx2}}, {kInt8, {}}};
constexpr ProductNeeds kOpenBlasProducts[] = {{kFloat32, {}}, {kBfloat16, {}}};

constexpr BackendEntry kBackends[] = {
    {"oneDNN", kOneDnnProducts, &OneDnnBackend::PassesCheck, &Make<OneDnnBackend>,
     /*held_type=*/nullptr, &OneDnnBackend::Variant},
    {"scorecast", kScorecastProducts, nullptr, &Make<PackedBackend>, &PanelType},
    {"OpenBLAS", kOpenBlasProducts, nullptr, &Make<OpenBlasBackend>, /*held_type=*/nullptr,
     &OpenBlasBackend::Variant},
};

}  // namespace

bool BackendEntry::supports(Precision precision, CpuFeatures features) const {
  const bool has_features = std::ranges::any_of(products, [&](const ProductNeeds& product) {
    return product.precision == precision && features.Contain(product.needs);
  });
  return has_features && (passes_check == nullptr || passes_check(precision));
}

std::int64_t BackendEntry::WeightSize(Precision precision, Dtype stored) const {
  const bool may_differ = held_type != nullptr && precision != kInt8;
  return may_differ ? ItemSize(held_type(precision, stored)) : ElementSize(precision);
}

std::span<const BackendEntry> Backends() { return kBackends; }

}  // namespace scorecast::shard
