#include "bench/worker/rank_report.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "bench/worker/mpi_meter.h"
#include "bench/worker/process_usage.h"

namespace scorecast::bench {
namespace {

RankReport ReportOf(BenchEngine& engine, MemoryPeak* peak) {
  RankReport report = engine.PhaseSeconds();
  for (auto& [name, seconds] : report) {
    name.insert(0, "phase.");
  }
  for (const auto& [name, value] : engine.ExchangeCost()) {
    report.emplace_back("exchange." + name, value);
  }
  const MpiCost mpi = MpiCostSoFar();
  report.emplace_back("exchange.mpi_calls", static_cast<double>(mpi.exchanges));
  report.emplace_back("exchange.mpi_s", mpi.exchange_seconds);
  report.emplace_back("cpu.all_s", ProcessCpuSeconds());
  report.emplace_back("cpu.mpi_s", mpi.cpu_seconds);
  const ResidentMemory memory = ProcessMemory();
  report.emplace_back("memory.anonymous", static_cast<double>(memory.anonymous));
  report.emplace_back("memory.file", static_cast<double>(memory.file));
  report.emplace_back("memory.shared", static_cast<double>(memory.shared));
  report.emplace_back("memory.peak", peak != nullptr ? static_cast<double>(peak->Take()) : 0.0);
  return report;
}

}  // namespace

std::vector<RankReport> GatherReports(BenchEngine& engine, MemoryPeak* peak) {
  const RankReport mine = ReportOf(engine, peak);
  std::vector<double> values;
  for (const auto& [name, value] : mine) {
    values.push_back(value);
  }
  const auto ranks = static_cast<std::size_t>(engine.group().size());
  const std::vector<std::size_t> counts(ranks, values.size() * sizeof(double));
  std::vector<double> all(engine.is_root() ? ranks * values.size() : 0);
  engine.group().GatherToRoot(std::as_bytes(std::span(values)), counts,
                              std::as_writable_bytes(std::span(all)));
  std::vector<RankReport> reports;
  for (auto rank = all.begin(); rank != all.end();) {
    reports.push_back(mine);
    for (auto& [name, value] : reports.back()) {
      value = *rank++;
    }
  }
  return reports;
}

}  // namespace scorecast::bench
