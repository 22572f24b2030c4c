#include "shard/linear/backends.h"

#include <type_traits>

#include "shard/linear/onednn_backend.h"
#include "shard/linear/openblas_backend.h"

namespace scorecast::shard {
namespace {

template <typename Backend>
std::unique_ptr<GemmBackend> Make(const Kernels& kernels, int threads, GemmBackend* fallback) {
  if constexpr (std::is_constructible_v<Backend, const Kernels&, int, GemmBackend&>) {
    return std::make_unique<Backend>(kernels, threads, *fallback);
  } else {
    return std::make_unique<Backend>(kernels, threads);
  }
}

constexpr BackendEntry kBackends[] = {
    {"oneDNN", &OneDnnBackend::Supports, &Make<OneDnnBackend>},
    {"OpenBLAS", &OpenBlasBackend::Supports, &Make<OpenBlasBackend>},
};

}  // namespace

std::span<const BackendEntry> Backends() { return kBackends; }

}  // namespace scorecast::shard
