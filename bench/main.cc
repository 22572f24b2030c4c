#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/model_flags.h"
#include "bench/pass_bench.h"
#include "bench/random_model.h"
#include "proto/mpi/communicator.h"
#include "proto/mpi/mpi_environment.h"

namespace {

using scorecast::bench::PassFigures;
using scorecast::bench::Shape;
using scorecast::bench::Spread;

void PrintTable(const Shape& shape, int ranks, int threads, const std::vector<PassFigures>& all) {
  std::printf("Shape %s, f32, %d rank%s x %d thread%s; seconds: median (least-most)\n\n",
              shape.name.c_str(), ranks, ranks == 1 ? "" : "s", threads, threads == 1 ? "" : "s");
  std::printf(
      "| query + items | tokens | one pass | raw GEMMs | pass / raw | TFLOP/s | one by one "
      "| one by one / pass | tokens' ratio |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  for (const PassFigures& f : all) {
    const double pass = f.pass.Median();
    std::printf("| %lld + %lld x %lld | %lld | %s | %s | %.2f | %.3f | %s | %.1f | %.1f |\n",
                static_cast<long long>(f.workload.query_tokens),
                static_cast<long long>(f.workload.items),
                static_cast<long long>(f.workload.item_tokens), static_cast<long long>(f.rows),
                Spread(f.pass, 3).c_str(), Spread(f.raw_gemms, 3).c_str(),
                pass / f.raw_gemms.Median(), f.raw_operations / pass * 1e-12,
                Spread(f.one_by_one, 3).c_str(), f.one_by_one.Median() / pass,
                static_cast<double>(f.one_by_one_rows) / static_cast<double>(f.rows));
  }
}

void PrintJson(const Shape& shape, int ranks, int threads, const std::vector<PassFigures>& all) {
  nlohmann::json rows = nlohmann::json::array();
  for (const PassFigures& f : all) {
    rows.push_back({{"query_tokens", f.workload.query_tokens},
                    {"items", f.workload.items},
                    {"item_tokens", f.workload.item_tokens},
                    {"tokens", f.rows},
                    {"one_by_one_tokens", f.one_by_one_rows},
                    {"raw_operations", f.raw_operations},
                    {"pass_seconds", f.pass.values},
                    {"raw_gemm_seconds", f.raw_gemms.values},
                    {"one_by_one_seconds", f.one_by_one.values}});
  }
  const nlohmann::json result = {{"bench", "pass"}, {"shape", shape.name}, {"dtype", "f32"},
                                 {"ranks", ranks},  {"threads", threads},  {"workloads", rows}};
  std::printf("%s\n", result.dump(1).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Times a request's one pass beside its bare matrix products, and beside the same "
      "items scored one by one, in turns. Under mpirun, or alone.",
      "scorecast_bench"};
  scorecast::bench::ModelFlags model{.shape_name = "0.5b"};
  bool json = false;
  scorecast::bench::PassBenchOptions options;
  options.threads = static_cast<int>(std::thread::hardware_concurrency());
  scorecast::bench::Workload workload;
  scorecast::bench::AddModelFlags(app, model);
  scorecast::bench::AddWorkloadFlags(app, workload);
  app.add_option("--threads", options.threads, "Threads of each rank")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", options.rounds, "Times that everything is run, in turns")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", json, "Print JSON with every sample instead of a table");
  CLI11_PARSE(app, argc, argv);

  const scorecast::proto::MpiEnvironment mpi;
  const scorecast::proto::Communicator world = scorecast::proto::Communicator::World();
  try {
    const Shape& shape = model.shape();
    options.model_dir = model.dir();
    scorecast::proto::StartupPhase(world, [&] {
      if (world.is_root()) {
        scorecast::bench::WriteRandomModel(shape, options.model_dir);
      }
    });
    options.workloads = {workload};
    const std::vector<PassFigures> all = scorecast::bench::RunPassBench(options);
    if (world.is_root()) {
      (json ? PrintJson : PrintTable)(shape, world.size(), options.threads, all);
    }
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "scorecast_bench: %s\n", fault.what());
    return 1;
  }
  return 0;
}
