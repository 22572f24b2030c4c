#include "bench/roofline/instruction_loops.h"

#include <array>
#include <chrono>

#ifdef SCORECAST_X86_LOOPS
#include "bench/roofline/x86_loops.h"
#endif

namespace scorecast::bench {
namespace {

#ifdef SCORECAST_X86_LOOPS
using enum shard::CpuFeature;

struct Entry {
  const char* dtype;
  shard::CpuFeatures needs;
  InstructionLoop loop;
};

const std::array kEntries = {
    Entry{"f32", {kAvx2}, {"vfmadd231ps ymm", kChains * 16.0, &Avx2Fma}},
    Entry{"f32", {kAvx512}, {"vfmadd231ps zmm", kChains * 32.0, &Avx512Fma}},
    Entry{"bf16", {kAvx512Bf16}, {"vdpbf16ps zmm", kChains * 64.0, &Avx512DotBf16}},
    Entry{"bf16", {kAmxBf16}, {"tdpbf16ps", kTileProducts * 16.0 * 16 * 32 * 2, &AmxTileBf16}},
    Entry{"int8", {kAvx2}, {"vpmaddwd ymm", kChains * 32.0, &Avx2DotInt16}},
    Entry{"int8", {kAvxVnni}, {"vpdpbusd ymm", kChains * 64.0, &AvxVnniDotInt8}},
    Entry{"int8", {kAvx512}, {"vpmaddwd zmm", kChains * 64.0, &Avx512DotInt16}},
    Entry{"int8", {kAvx512Vnni}, {"vpdpbusd zmm", kChains * 128.0, &Avx512DotInt8}},
    Entry{"int8", {kAmxInt8}, {"tdpbusd", kTileProducts * 16.0 * 16 * 64 * 2, &AmxTileInt8}},
};
#endif

double Seconds(shard::ThreadPool& pool, const InstructionLoop& loop, std::int64_t tasks,
               std::int64_t iterations) {
  const auto begin = std::chrono::steady_clock::now();
  pool.ParallelFor(tasks, [&](std::int64_t, int) { loop.run(iterations); });
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

std::vector<InstructionLoop> InstructionLoops([[maybe_unused]] const std::string& dtype,
                                              [[maybe_unused]] shard::CpuFeatures features) {
  std::vector<InstructionLoop> loops;
#ifdef SCORECAST_X86_LOOPS
  for (const Entry& entry : kEntries) {
    if (dtype == entry.dtype && features.Contain(entry.needs)) {
      loops.push_back(entry.loop);
    }
  }
  if (dtype == "bf16" && loops.empty()) {
    return InstructionLoops("f32", features);
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
