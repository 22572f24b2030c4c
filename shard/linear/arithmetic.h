#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shard/kernels/kernels.h"
#include "shard/linear/backends.h"
#include "shard/linear/gemm_backend.h"
#include "shard/linear/precision.h"

namespace scorecast::shard {

/// The precisions of an engine's matrix products, and the library for each.
struct ArithmeticChoice {
  Precision layers = Precision::kFloat32;
  /// Never int8: few rows go through the lm-head, and every error in it shows in the scores.
  Precision lm_head = Precision::kFloat32;
  const BackendEntry* layer_backend = &Backends().back();
  const BackendEntry* lm_head_backend = &Backends().back();
  /// Backends that support both precisions, in the order of their table; there may be none. Weights
  /// of a shape for which a backend has no kernel go to the next one of these.
  std::vector<const BackendEntry*> fallbacks = {&Backends().back()};

  ProductPrecisions precisions() const { return {layers, lm_head}; }
};

/// --dtype auto: the fastest precision on a CPU with these features, but int8 only if a user asks
/// for it.
Precision DefaultPrecision(CpuFeatures features);

/// The precisions of an engine whose layers are `layers`. If the layers are int8, the lm-head has
/// the default precision: on a CPU without products of bfloat16, float32 is as fast and rounds
/// nothing.
ProductPrecisions PrecisionsFor(Precision layers, CpuFeatures features);

/// Whether a backend can be used for products of a precision.
using BackendSupport = std::function<bool(const BackendEntry& backend, Precision precision)>;

/// The best choice from `table`: for each precision the first backend that `supports` accepts, of
/// which there must be one. Which questions `supports` is asked depends only on `table`,
/// `precisions` and its own earlier results.
ArithmeticChoice ChooseArithmetic(std::span<const BackendEntry> table, ProductPrecisions precisions,
                                  const BackendSupport& supports);

/// The best choice from Backends() on this CPU if only `features` may be used.
ArithmeticChoice ChooseArithmetic(Precision layers, CpuFeatures features);

/// The choice of an engine whose ranks all use `features` and no others. Limits oneDNN to
/// `features`, so it must be called before oneDNN is first used. If `layers` is absent, it is
/// DefaultPrecision. on_every_rank(here) returns whether `here` is true on all ranks.
ArithmeticChoice ChooseArithmeticOfEngine(
    CpuFeatures features, std::optional<Precision> layers,
    const std::function<bool(bool here)>& on_every_rank = std::identity());

/// The library whose products round, with its variant: "OpenBLAS 0.3.21 Haswell", or "scorecast".
/// Products of the layers and of the lm-head that round have one precision, and so one library.
/// Empty if no product rounds: sums of int8 are exact in every library, and a model may have no
/// lm-head. (Weights of a shape without a kernel go to scorecast's products, which have no
/// variant.)
std::string RoundingLibrary(const ArithmeticChoice& choice, bool has_lm_head);

/// The chosen backends. Keys and values are bfloat16 unless the layers are float32.
class Arithmetic {
 public:
  Arithmetic(const Kernels& kernels, const ArithmeticChoice& choice, int threads);

  Precision layers() const { return choice_.layers; }
  Precision lm_head() const { return choice_.lm_head; }
  GemmBackend& layer_backend() { return *backends_.at(choice_.layer_backend); }
  GemmBackend& lm_head_backend() { return *backends_.at(choice_.lm_head_backend); }
  const AttentionKernels& attention() const { return attention_; }

  /// For the log, e.g. "bf16 by oneDNN 2.6.3 brgemm:avx512_core_bf16".
  std::string Description() const;
  /// For the log: how many rows a kernel computes at once, e.g. "layers 4 8, lm-head 8".
  std::string Heights() const;
  /// A warning for the log if a backend is used that is much slower than others; else empty.
  std::string Warning() const;

 private:
  const GemmBackend& BackendOf(const BackendEntry* entry) const { return *backends_.at(entry); }
  /// Makes the backend of an entry, and before it its fallbacks, unless they exist already.
  GemmBackend* Make(const BackendEntry* entry, const Kernels& kernels, int threads);

  ArithmeticChoice choice_;
  /// The chosen backends and their fallbacks.
  std::map<const BackendEntry*, std::unique_ptr<GemmBackend>> backends_;
  const AttentionKernels& attention_;
};

}  // namespace scorecast::shard
