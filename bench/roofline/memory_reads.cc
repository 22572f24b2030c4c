#include "bench/roofline/memory_reads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <numeric>

#include <unistd.h>

#ifdef SCORECAST_X86_LOOPS
#include "bench/roofline/x86_loops.h"
#endif

namespace scorecast::bench {
namespace {

/// About the part of a weight that a thread reads at a time: 256 outputs of 1024 inputs in
/// bfloat16.
constexpr std::int64_t kPieceBytes = std::int64_t{1} << 19;
constexpr std::int64_t kPieceWords = kPieceBytes / static_cast<std::int64_t>(sizeof(std::uint64_t));

constexpr std::int64_t kLeastBytes = std::int64_t{1} << 30;
constexpr std::int64_t kTimesTheCaches = 4;
constexpr int kReadings = 3;

/// The sum of a piece. It keeps several partial sums, so that no addition waits for the one before
/// it.
std::uint64_t SumOf(const std::uint64_t* words) {
#ifdef SCORECAST_X86_LOOPS
  if (__builtin_cpu_supports("avx512f") != 0) {
    return Avx512Sum(words, kPieceWords);
  }
#endif
  constexpr std::int64_t kSums = 16;
  std::uint64_t sums[kSums] = {};
  for (std::int64_t i = 0; i < kPieceWords; i += kSums) {
    for (std::int64_t j = 0; j < kSums; ++j) {
      sums[j] += words[i + j];
    }
  }
  return std::accumulate(std::begin(sums), std::end(sums), std::uint64_t{0});
}

}  // namespace

std::int64_t BytesBeyondCaches() {
  return std::max(kLeastBytes, kTimesTheCaches * std::int64_t{sysconf(_SC_LEVEL3_CACHE_SIZE)});
}

MemoryReads::MemoryReads(std::int64_t bytes, shard::ThreadPool& pool)
    : pool_(pool),
      words_(static_cast<std::size_t>((bytes + kPieceBytes - 1) / kPieceBytes * kPieceWords)) {
  words_.PreferHugePages();
  pool_.ParallelFor(pieces(), [&](std::int64_t piece, int) {
    std::uint64_t* begin = words_.data() + piece * kPieceWords;
    std::iota(begin, begin + kPieceWords, static_cast<std::uint64_t>(piece * kPieceWords));
  });
}

std::int64_t MemoryReads::pieces() const { return words() / kPieceWords; }

std::uint64_t MemoryReads::Sum() {
  std::atomic<std::uint64_t> sum = 0;
  pool_.ParallelFor(pieces(), [&](std::int64_t piece, int) {
    sum.fetch_add(SumOf(words_.data() + piece * kPieceWords), std::memory_order_relaxed);
  });
  return sum;
}

double MemoryReads::BytesPerSecond() {
  double best = 0;
  for (int i = 0; i < kReadings; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    Sum();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
    best = std::max(best, static_cast<double>(words() * sizeof(std::uint64_t)) / seconds.count());
  }
  return best;
}

}  // namespace scorecast::bench
