#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "shard/linear/gemm_backend.h"
#include "shard/linear/precision.h"

namespace scorecast::shard {

class OneDnnProduct;

/// Limits oneDNN to instructions among `features`. Must be called before anything else of oneDNN.
/// Does nothing if ONEDNN_MAX_CPU_ISA is set, which takes precedence.
void LimitOneDnn(CpuFeatures features);

/// Products by oneDNN. Weights of a shape for which oneDNN has no suitable kernel go to `other`.
class OneDnnBackend : public GemmBackend {
 public:
  OneDnnBackend(const Kernels& kernels, int threads, GemmBackend& other);
  ~OneDnnBackend() override;

  /// Whether oneDNN has a usable kernel for products of this precision on this CPU, within the
  /// limit of LimitOneDnn or ONEDNN_MAX_CPU_ISA.
  static bool PassesCheck(Precision precision);

  /// The version of oneDNN and its kernel for products of a precision that passes the check, whose
  /// name has the kernel's instructions: "2.6.3 brgemm:avx512_core_bf16".
  static std::string Variant(Precision precision);

  std::unique_ptr<PackedWeight> Pack(Precision precision, const WeightSource& source,
                                     ThreadPool& pool) override;
  /// By our own kernels, because oneDNN computes each block by itself. With AMX if oneDNN uses it.
  std::unique_ptr<PackedBlocks> PackBlocks(Precision precision,
                                           std::span<const WeightSource> blocks,
                                           std::span<const BlockStep> steps,
                                           ThreadPool& pool) override;
  std::string Description(Precision precision) const override;
  std::vector<std::int64_t> Heights(Precision precision) const override;

 private:
  /// The product of a shape, made and checked at the first call for it; null if it is not usable.
  const OneDnnProduct* Product(Precision precision, std::int64_t width, std::int64_t in);

  const Kernels& kernels_;
  int threads_;
  GemmBackend& other_;
  std::map<std::tuple<Precision, std::int64_t, std::int64_t>, std::unique_ptr<OneDnnProduct>>
      products_;
};

}  // namespace scorecast::shard
