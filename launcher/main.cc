#include <cstdio>
#include <exception>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include "launcher/commands.h"
#include "launcher/engine_flags.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/mpi/communicator.h"
#include "proto/mpi/mpi_environment.h"

namespace {

using scorecast::launcher::BatchFlags;
using scorecast::launcher::InspectFlags;
using scorecast::launcher::kExitFailed;
using scorecast::launcher::TokenizeFlags;

/// Runs a command, whose faults of start-up become one line.
int Guarded(bool prints, const std::function<int()>& command) {
  try {
    return command();
  } catch (const std::exception& fault) {
    if (prints) {
      std::fprintf(stderr, "scorecast: %s\n", fault.what());
    }
    return kExitFailed;
  }
}

/// A command of all ranks: they agree on what failed, and rank 0 tells it.
int GuardedOnAllRanks(const std::function<int()>& command) {
  const scorecast::proto::MpiEnvironment mpi;
  return Guarded(scorecast::proto::Communicator::World().is_root(), command);
}

/// A fault of the command line, which every rank of a job sees, is told once and in one line too.
int UsageFault(const CLI::ParseError& fault, bool on_all_ranks) {
  const auto tell = [&]() -> int {
    throw scorecast::proto::StartupError(scorecast::proto::OneLine(fault.what(), 400) +
                                         " (see --help)");
  };
  return on_all_ranks ? GuardedOnAllRanks(tell) : Guarded(true, tell);
}

void StartLogging(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("scorecast"));
  spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
  spdlog::set_level(spdlog::level::from_str(level));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"scorecast: scores many candidates against one query in one forward pass.",
               "scorecast"};
  app.set_version_flag("--version", "scorecast " SCORECAST_VERSION);
  app.require_subcommand(1);

  BatchFlags batch_flags;
  CLI::App* batch = app.add_subcommand(
      "batch",
      "Scores a file of requests in OpenAI's batch format; under mpirun, or alone. Exit "
      "code: 0 every line was answered with 200, 3 some were not, 1 the run failed");
  AddEngineFlags(*batch, batch_flags.engine);
  batch
      ->add_option("--input", batch_flags.input,
                   "Requests, a JSON object a line; -: standard input")
      ->required()
      ->type_name("FILE");
  batch
      ->add_option("--output", batch_flags.output,
                   "Answers, a line each in the order of the input; -: standard output")
      ->required()
      ->type_name("FILE");

  TokenizeFlags tokenize_flags;
  CLI::App* tokenize = app.add_subcommand(
      "tokenize", R"(Reads {"text":...} lines on standard input, prints {"ids":[...]} lines)");
  tokenize
      ->add_option("--model", tokenize_flags.model,
                   "Directory with tokenizer.json or tokenizer.model; weights are not needed")
      ->required()
      ->type_name("DIR");
  tokenize->add_flag("--no-special", tokenize_flags.no_special,
                     "Leave out what the tokenizer's own rule adds (BOS, EOS)");

  InspectFlags inspect_flags;
  CLI::App* inspect = app.add_subcommand(
      "inspect", "Prints the model, how it is split over ranks, and the memory each needs");
  AddEngineFlags(*inspect, inspect_flags.engine);
  inspect->add_option("--ranks", inspect_flags.ranks, "Ranks to split the model over")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    if (end.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(end);  // --help and --version
    }
    return UsageFault(end, batch->parsed());
  }

  if (*tokenize) {
    return Guarded(true, [&] { return RunTokenizeCommand(tokenize_flags); });
  }
  if (*inspect) {
    return Guarded(true, [&] { return RunInspectCommand(inspect_flags); });
  }
  StartLogging(batch_flags.engine.log_level);
  return GuardedOnAllRanks([&] { return RunBatchCommand(batch_flags); });
}
