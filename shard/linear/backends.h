#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "shard/kernels/kernels.h"
#include "shard/linear/gemm_backend.h"
#include "shard/linear/precision.h"

namespace scorecast::shard {

/// A library of matrix products that an engine can use.
struct BackendEntry {
  std::string_view name;  ///< For the log.

  /// Whether it has products of `precision` on this CPU if only the instructions of `set` may be
  /// used.
  bool (*supports)(Precision precision, InstructionSet set);

  /// `threads` is the size of the pool that calls it. Weights of a shape for which it has no kernel
  /// go to `fallback`, which must outlive it. `fallback` is null for the last entry of a table.
  std::unique_ptr<GemmBackend> (*make)(const Kernels& kernels, int threads, GemmBackend* fallback);
};

/// All libraries, the preferred ones first. The last one supports every precision and shape on any
/// CPU, and is the fallback of the others.
std::span<const BackendEntry> Backends();

}  // namespace scorecast::shard
