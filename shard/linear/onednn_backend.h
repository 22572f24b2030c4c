#pragma once

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "shard/linear/gemm_backend.h"
#include "shard/linear/precision.h"

namespace scorecast::shard {

class OneDnnProduct;

/// Products by oneDNN; those of a shape for which it has no kernel that suits, by `other`.
class OneDnnBackend : public GemmBackend {
 public:
  OneDnnBackend(const Kernels& kernels, int threads, GemmBackend& other);
  ~OneDnnBackend() override;

  /// Whether this CPU, with what ONEDNN_MAX_CPU_ISA leaves of it, has instructions for products of
  /// this precision.
  static bool Supports(Precision precision);

  std::unique_ptr<PackedWeight> Pack(Precision precision, const WeightSource& source,
                                     ThreadPool& pool) override;
  std::string Description(Precision precision) const override;

 private:
  /// Checked when it is first asked for; null where it is not usable.
  const OneDnnProduct* Product(Precision precision, std::int64_t width, std::int64_t in);

  const Kernels& kernels_;
  int threads_;
  GemmBackend& other_;
  std::map<std::tuple<Precision, std::int64_t, std::int64_t>, std::unique_ptr<OneDnnProduct>>
      products_;
};

}  // namespace scorecast::shard
