#include "bench/roofline/instruction_loops.h"

#include <algorithm>
#include <chrono>

#ifdef SCORECAST_X86_LOOPS
#include <sys/syscall.h>
#include <unistd.h>

#include "bench/roofline/x86_loops.h"
#endif

namespace scorecast::bench {
namespace {

#ifdef SCORECAST_X86_LOOPS
/// Asks Linux for the tile registers, which a process must do before it uses them.
bool HasTiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}
#endif

double Seconds(shard::ThreadPool& pool, const InstructionLoop& loop, std::int64_t tasks,
               std::int64_t iterations) {
  const auto begin = std::chrono::steady_clock::now();
  pool.ParallelFor(tasks, [&](std::int64_t, int) { loop.run(iterations); });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::vector<InstructionLoop> InstructionLoops([[maybe_unused]] const std::string& dtype) {
  std::vector<InstructionLoop> loops;
#ifdef SCORECAST_X86_LOOPS
  const bool has_avx512 = __builtin_cpu_supports("avx512f") != 0;
  if (dtype == "f32") {
    if (__builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0) {
      loops.push_back({"vfmadd231ps ymm", kChains * 16.0, &Avx2Fma});
    }
    if (has_avx512) {
      loops.push_back({"vfmadd231ps zmm", kChains * 32.0, &Avx512Fma});
    }
  } else if (dtype == "bf16") {
    if (has_avx512 && __builtin_cpu_supports("avx512bf16") != 0) {
      loops.push_back({"vdpbf16ps zmm", kChains * 64.0, &Avx512DotBf16});
    }
    if (__builtin_cpu_supports("amx-bf16") != 0 && HasTiles()) {
      loops.push_back({"tdpbf16ps", kTileProducts * 16.0 * 16 * 32 * 2, &AmxTileBf16});
    }
  } else if (dtype == "int8") {
    if (has_avx512 && __builtin_cpu_supports("avx512vnni") != 0) {
      loops.push_back({"vpdpbusd zmm", kChains * 128.0, &Avx512DotInt8});
    }
    if (__builtin_cpu_supports("amx-int8") != 0 && HasTiles()) {
      loops.push_back({"tdpbusd", kTileProducts * 16.0 * 16 * 64 * 2, &AmxTileInt8});
    }
  }
#endif
  return loops;
}

double OperationsPerSecond(const InstructionLoop& loop, shard::ThreadPool& pool) {
  // Tasks of about half a millisecond, so many that every thread gets its share.
  constexpr std::int64_t kTasksOfAThread = 100;
  constexpr double kTaskSeconds = 0.0005;
  std::int64_t iterations = 1000;
  while (Seconds(pool, loop, 1, iterations) < kTaskSeconds) {
    iterations *= 2;
  }
  const std::int64_t tasks = kTasksOfAThread * pool.threads();
  const double seconds = Seconds(pool, loop, tasks, iterations);
  return loop.operations * static_cast<double>(tasks * iterations) / seconds;
}

}  // namespace scorecast::bench
