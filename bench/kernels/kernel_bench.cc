#include "bench/kernels/kernel_bench.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "bench/kernels/kernel_cases.h"
#include "bench/samples.h"

namespace scorecast::bench {
namespace {

constexpr int kSlices = 9;
constexpr double kSliceSeconds = 0.008;

double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <typename Work>
double CpuSeconds(Work work) {
  const double begin = ThreadCpuSeconds();
  work();
  return ThreadCpuSeconds() - begin;
}

/// How often to do some work so that it takes a slice.
template <typename Work>
std::int64_t TimesOfSlice(Work work) {
  std::int64_t times = 1;
  while (CpuSeconds([&] { work(times); }) < kSliceSeconds) {
    times *= 2;
  }
  return times;
}

}  // namespace

KernelBench::KernelBench(BenchEngine& engine, const std::string& dtype) : engine_(engine) {
  const shard::Kernels& kernels = engine.kernels();
  // Only the precision of K/V differs, and that of int8 is that of bf16.
  if (dtype != "int8") {
    cases_ = AttentionCases(dtype == "f32" ? kernels.attention_f32 : kernels.attention_bf16,
                            engine.pool());
  }
  if (dtype == "f32") {
    for (KernelCase& one : ElementCases(kernels)) {
      cases_.push_back(std::move(one));
    }
  }
  for (KernelCase& one : ProductCases(kernels, engine.products(), engine.pool())) {
    cases_.push_back(std::move(one));
  }
  double highest = 0;
  for (const InstructionLoop& loop : InstructionLoops(dtype, engine.features())) {
    const double rate = OperationsPerSecond(loop, engine.pool());
    if (rate > highest) {
      highest = rate;
      bare_ = loop;
    }
  }
}

std::vector<std::string> KernelBench::names() const {
  std::vector<std::string> names;
  for (const KernelCase& one : cases_) {
    names.push_back(one.name);
  }
  return names;
}

std::optional<KernelRates> KernelBench::Measure(const std::string& name) {
  const auto found =
      std::ranges::find_if(cases_, [&](const KernelCase& one) { return one.name == name; });
  if (found == cases_.end()) {
    return std::nullopt;
  }
  KernelRates rates;
  rates.counts = found->make();
  const auto kernel = [&](std::int64_t times) {
    for (std::int64_t i = 0; i < times; ++i) {
      rates.counts.run();
    }
  };
  const std::int64_t runs = TimesOfSlice(kernel);
  const std::int64_t iterations = bare_ ? TimesOfSlice(bare_->run) : 0;
  if (rates.counts.bytes > 0 && !reads_) {
    reads_.emplace(BytesBeyondCaches(), engine_.pool());
  }
  Samples seconds;
  Samples bare;
  Samples bytes;
  Samples share_of_bare;
  Samples operations_an_element;
  Samples share_of_reads;
  for (int slice = 0; slice < kSlices; ++slice) {
    const double run = CpuSeconds([&] { kernel(runs); }) / static_cast<double>(runs);
    seconds.values.push_back(run);
    if (bare_) {
      const double rate = bare_->operations * static_cast<double>(iterations) /
                          CpuSeconds([&] { bare_->run(iterations); });
      bare.values.push_back(rate);
      share_of_bare.values.push_back(rates.counts.operations / run / rate);
      if (rates.counts.elements > 0) {
        operations_an_element.values.push_back(run * rate / rates.counts.elements);
      }
    }
    if (rates.counts.bytes > 0) {
      const double rate = static_cast<double>(reads_->words()) * sizeof(std::uint64_t) /
                          CpuSeconds([&] { reads_->Sum(); });
      bytes.values.push_back(rate);
      share_of_reads.values.push_back(rates.counts.bytes / run / rate);
    }
  }
  rates.seconds = seconds.Median();
  const auto median = [](const Samples& samples) {
    return samples.values.empty() ? std::nullopt : std::optional(samples.Median());
  };
  rates.operations_per_second = median(bare);
  rates.bytes_per_second = median(bytes);
  rates.share_of_bare = median(share_of_bare);
  rates.operations_an_element = median(operations_an_element);
  rates.share_of_reads = median(share_of_reads);
  return rates;
}

}  // namespace scorecast::bench
