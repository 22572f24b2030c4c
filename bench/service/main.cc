#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/random_model.h"
#include "bench/samples.h"
#include "bench/service/idle_bench.h"
#include "bench/service/load_bench.h"
#include "bench/service/report.h"
#include "bench/service/service_process.h"
#include "bench/service/transport_bench.h"

namespace {

// A program of its own, so this directive affects no other file.
using namespace scorecast::bench;  // NOLINT(google-build-using-namespace)

struct CommonFlags {
  ModelFlags model;
  int ranks = 2;
  int threads = 0;
  int max_batch_tokens = 8192;
  bool json = false;

  ServiceTitle title() const { return {model.shape_name, ranks, threads, max_batch_tokens}; }
  /// `program`: empty if it is this build's.
  ServiceOptions MultiItem(const std::filesystem::path& program = {}) const {
    return {.model_dir = model.dir(),
            .ranks = ranks,
            .threads = threads,
            .max_batch_tokens = max_batch_tokens,
            .program = program};
  }
  ServiceOptions OneByOne(const std::filesystem::path& program = {}) const {
    ServiceOptions options = MultiItem(program);
    options.one_by_one = true;
    return options;
  }
};

void AddCommonFlags(CLI::App& app, CommonFlags& flags) {
  AddModelFlags(app, flags.model);
  app.add_option("--ranks", flags.ranks, "Ranks of the service")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", flags.threads, "Threads of each rank; 0: its share of the CPUs")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--max-batch-tokens", flags.max_batch_tokens, "Largest number of tokens of a pass")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_flag("--json", flags.json, "Print JSON with every sample instead of tables");
}

void AddIdleFlags(CLI::App& app, IdleBenchOptions& options) {
  AddWorkloadFlags(app, options.workload);
  app.add_option("--cost-seconds", options.cost_seconds,
                 "Idle seconds over which CPU time is measured")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--wakeup-seconds", options.wakeup_seconds,
                 "Idle seconds before the first request of a round")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--rounds", options.wakeup_rounds, "Number of wake-ups")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--quick-requests", options.quick_requests,
                 "Requests in quick succession after each wake-up, to compare with")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void AddLoadFlags(CLI::App& app, LoadOptions& options) {
  AddWorkloadFlags(app, options.workload);
  app.add_option("--seconds", options.seconds, "Seconds of arrivals at each rate")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--first-rate", options.first_rate, "The first rate, as a share of the capacity")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--growth", options.growth, "Factor from each rate to the next")
      ->check(CLI::Range(1.01, 10.0))
      ->capture_default_str();
  app.add_option("--transport-rounds", options.transport_rounds,
                 "Requests on the socket and over HTTP, in turns")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--max-rates", options.max_rates, "Largest number of rates; 0: none is tried")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--limit-ms", options.limit_ms, "Limit of p99 in milliseconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--timeout-ms", options.timeout_ms, "Each request's deadline in milliseconds")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seed", options.seed, "Seed of the arrival times")->capture_default_str();
  app.add_option("--against", options.against,
                 "Directory of another build, whose executable is measured in turns with this one")
      ->check(CLI::ExistingDirectory);
  app.add_flag("--page", options.with_page,
               "Load the service in turns with its page open in a browser and without, instead of "
               "comparing items one by one and in one pass")
      ->excludes("--against");
}

void RunIdle(const CommonFlags& flags, IdleBenchOptions options) {
  WriteRandomModel(flags.model.shape(), flags.model.dir());
  options.vocab_size = flags.model.shape().vocab_size;
  Progress("idle: starting the service");
  const ServiceProcess service(flags.MultiItem());
  const IdleFigures figures = RunIdleBench(service, options);
  (flags.json ? PrintIdleJson : PrintIdleTables)(flags.title(), options, figures);
}

void RunLoad(const CommonFlags& flags, LoadOptions options) {
  WriteRandomModel(flags.model.shape(), flags.model.dir());
  options.vocab_size = flags.model.shape().vocab_size;
  Progress("load: starting the services");
  const bool is_comparison = !options.against.empty();
  const std::filesystem::path other = options.against / "scorecast";
  const ServiceProcess multi_item(flags.MultiItem());
  std::optional<ServiceProcess> other_multi_item;
  std::vector<const ServiceProcess*> services = {&multi_item};
  if (is_comparison) {
    services.push_back(&other_multi_item.emplace(flags.MultiItem(other)));
  }
  const std::vector<TransportFigures> transports =
      RunTransportBench(services, options.workload, options.vocab_size, options.transport_rounds);
  std::vector<LoadFigures> all;
  if (options.max_rates > 0 && options.with_page) {
    all = RunLoadBench({{"page open", multi_item, 1, /*has_page=*/true}, {"no page", multi_item}},
                       options);
  } else if (options.max_rates > 0) {
    const ServiceProcess one_by_one(flags.OneByOne());
    std::optional<ServiceProcess> other_one_by_one;
    std::vector<LoadedService> loaded = {{"one by one", one_by_one}, {"multi-item", multi_item}};
    if (is_comparison) {
      loaded.push_back({"one by one, other", other_one_by_one.emplace(flags.OneByOne(other)), 0});
      loaded.push_back({"multi-item, other", *other_multi_item, 1});
    }
    all = RunLoadBench(loaded, options);
  }
  (flags.json ? PrintLoadJson : PrintLoadTables)(flags.title(), options, transports, all);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Measures `scorecast serve` under mpirun, as its clients see it.",
               "scorecast_service_bench"};
  app.require_subcommand(1);
  CommonFlags idle_flags{.model = {.shape_name = "0.1b"}};
  // A small model, so that a few cores keep the limit at some rates even if items are scored one by
  // one.
  CommonFlags load_flags{.model = {.shape_name = "0.01b"}};
  IdleBenchOptions idle_options;
  LoadOptions load_options;
  CLI::App* idle = app.add_subcommand(
      "idle", "CPU time of an idle service, and time of its first request after an idle time");
  AddCommonFlags(*idle, idle_flags);
  AddIdleFlags(*idle, idle_options);
  CLI::App* load = app.add_subcommand(
      "load",
      "Time of a request on the socket and over HTTP; latency under Poisson arrivals at rising "
      "rates, with items scored one by one and all in one pass, in turns");
  AddCommonFlags(*load, load_flags);
  AddLoadFlags(*load, load_options);
  CLI11_PARSE(app, argc, argv);
  try {
    if (*idle) {
      RunIdle(idle_flags, idle_options);
    } else {
      RunLoad(load_flags, load_options);
    }
  } catch (const std::exception& fault) {
    std::fprintf(stderr, "scorecast_service_bench: %s\n", fault.what());
    return 1;
  }
  return 0;
}
