// An engine that runs passes on demand, so that other programs can compare it with other engines or
// measure it on other networks. First it prints a line of JSON that describes it. Then it reads
// commands, one per line (session.h), such as a workload's name, and replies to each with a line of
// JSON. It ends with its input.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "bench/bench_engine.h"
#include "bench/random_model.h"
#include "bench/worker/mpi_meter.h"
#include "bench/worker/process_usage.h"
#include "bench/worker/session.h"
#include "launcher/engine/engine_flags.h"
#include "proto/mpi/communicator.h"
#include "proto/mpi/mpi_environment.h"

namespace {

using namespace scorecast;  // NOLINT(google-build-using-namespace): this is a program of its own.

using nlohmann::json;

struct Flags {
  bench::ModelFlags model{.shape_name = "0.5b"};
  std::filesystem::path existing;  ///< Instead of `model`.
  std::string dtype = "f32";
  std::string kernel = "auto";
  int threads = static_cast<int>(std::thread::hardware_concurrency());
  bool rank_invariant = false;
  double latency_us = 0;
  std::optional<shard::ColumnReads> column_reads;
  bool sample_memory = false;
  bool only_write_model = false;

  std::filesystem::path model_dir() const { return existing.empty() ? model.dir() : existing; }
};

void AddFlags(CLI::App& app, Flags& flags) {
  bench::AddModelFlags(app, flags.model);
  app.get_option("--models")->required(false);
  app.add_option("--model", flags.existing, "A model's directory, instead of --shape and --models")
      ->type_name("DIR");
  app.add_option("--dtype", flags.dtype, "Precision of the products")
      ->check(CLI::IsMember(bench::EngineDtypes()))
      ->capture_default_str();
  app.add_option("--kernel", flags.kernel, "As the executable's --kernel")
      ->check(CLI::IsMember(launcher::KernelNames()))
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "Threads of each rank")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--rank-invariant", flags.rank_invariant, "As the executable's --rank-invariant");
  app.add_option("--latency-us", flags.latency_us,
                 "Latency added to messages between ranks, in microseconds")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--column-reads", flags.column_reads,
                 "How the ranks read weights that are split by columns; the faster way by default")
      ->transform(CLI::CheckedTransformer(std::map<std::string, shard::ColumnReads>{
          {"by-each-rank", shard::ColumnReads::kByEachRank},
          {"exchanged", shard::ColumnReads::kExchanged}}));
  app.add_flag("--sample-memory", flags.sample_memory,
               "Sample the memory every few milliseconds, which costs a little time");
  app.add_flag("--only-write-model", flags.only_write_model,
               "Write the random model unless it exists, print its directory, and end");
}

void PrintLine(const json& line) { std::cout << line.dump() << std::endl; }

void Serve(bench::BenchEngine& engine, const Flags& flags, bench::MemoryPeak* peak) {
  bench::Session session(engine, flags.dtype, peak);
  PrintLine(session.Hello());
  std::string line;
  while (std::getline(std::cin, line)) {
    PrintLine(session.Reply(line));
  }
  engine.runner().StopFollowers();
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Runs passes on demand: reads names of workloads (\"300+10x10\"), replies in JSON.",
               "scorecast_bench_worker"};
  Flags flags;
  AddFlags(app, flags);
  CLI11_PARSE(app, argc, argv);
  if (flags.existing.empty() == flags.model.root.empty()) {
    std::fprintf(stderr, "scorecast_bench_worker: either --models or --model is needed\n");
    return 1;
  }

  const proto::MpiEnvironment mpi;
  const proto::Communicator world = proto::Communicator::World();
  try {
    proto::StartupPhase(world, [&] {
      if (world.is_root() && flags.existing.empty()) {
        bench::WriteRandomModel(flags.model.shape(), flags.model.dir());
      }
    });
    if (flags.only_write_model) {
      if (world.is_root()) {
        std::cout << flags.model_dir().string() << std::endl;
      }
      return 0;
    }
    std::optional<bench::MemoryPeak> peak;
    if (flags.sample_memory) {
      peak.emplace();
    }
    bench::BenchEngine engine({.model_dir = flags.model_dir(),
                               .dtype = flags.dtype,
                               .kernel = flags.kernel,
                               .threads = flags.threads,
                               .rank_invariant = flags.rank_invariant,
                               .column_reads = flags.column_reads});
    bench::AddMpiLatency(flags.latency_us * 1e-6);
    if (engine.is_root()) {
      Serve(engine, flags, peak ? &*peak : nullptr);
    } else {
      bench::FollowSession(engine, peak ? &*peak : nullptr);
    }
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "scorecast_bench_worker: %s\n", fault.what());
    return 1;
  }
  return 0;
}
