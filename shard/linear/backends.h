#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "shard/checkpoint/tensor_view.h"
#include "shard/kernels/kernels.h"
#include "shard/linear/gemm_backend.h"
#include "shard/linear/precision.h"

namespace scorecast::shard {

/// A precision in which a backend computes, and the CPU features that it needs for that.
struct ProductNeeds {
  Precision precision;
  CpuFeatures needs;
};

/// A library of matrix products that an engine can use.
struct BackendEntry {
  std::string_view name;  ///< For the log.
  std::span<const ProductNeeds> products;
  /// Whether the backend's products of a precision pass its own check on this CPU. Null if no check
  /// is needed.
  bool (*passes_check)(Precision precision);

  /// Makes the backend. `threads` is the size of the pool that will call it. Weights of a shape for
  /// which the backend has no kernel go to `fallback`, which must outlive the backend. `fallback`
  /// is null if no later entry has the engine's precisions.
  std::unique_ptr<GemmBackend> (*make)(const Kernels& kernels, int threads, GemmBackend* fallback);

  /// The type in which the backend keeps weights that have the type `stored` in the checkpoint; not
  /// called for int8. Null if the backend always keeps them in the type of the precision.
  Dtype (*held_type)(Precision precision, Dtype stored) = nullptr;

  /// What the bits of the backend's products depend on besides the kernel set: its version, and the
  /// instructions that it has chosen, such as "0.3.21 Haswell". Not called for int8. Null if there
  /// is nothing.
  std::string (*variant)(Precision precision) = nullptr;

  /// Whether the backend has products of `precision` on this CPU if only `features` may be used.
  bool supports(Precision precision, CpuFeatures features) const;

  /// Bytes of one packed weight that has the type `stored` in the checkpoint.
  std::int64_t WeightSize(Precision precision, Dtype stored) const;
};

/// All libraries, the preferred ones first. For each precision there is one that supports every
/// shape on any CPU. The last one is slow.
std::span<const BackendEntry> Backends();

}  // namespace scorecast::shard
