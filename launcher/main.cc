#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <CLI/CLI.hpp>

#include "coordinator/access/api_key.h"
#include "launcher/client/client_flags.h"
#include "launcher/client/decide_command.h"
#include "launcher/client/drain_command.h"
#include "launcher/client/reload_command.h"
#include "launcher/client/rerank_command.h"
#include "launcher/client/score_command.h"
#include "launcher/commands/command_end.h"
#include "launcher/commands/command_line.h"
#include "launcher/commands/commands.h"
#include "launcher/commands/inspect_hosts.h"
#include "launcher/commands/listening_flags.h"
#include "launcher/commands/replica_batch_flags.h"
#include "launcher/commands/replica_flags.h"
#include "launcher/host/launcher_variables.h"
#include "launcher/host/left_segments.h"
#include "launcher/host/rank_placement.h"
#include "launcher/log/status_log.h"
#include "launcher/supervisor/supervisor_link.h"
#include "proto/base/error.h"
#include "proto/base/fault_text.h"
#include "proto/base/one_line.h"
#include "proto/log/log.h"
#include "proto/mpi/communicator.h"
#include "proto/mpi/mpi_environment.h"

namespace {

using scorecast::launcher::BatchFlags;
using scorecast::launcher::CalibrateFlags;
using scorecast::launcher::DecideFlags;
using scorecast::launcher::DrainFlags;
using scorecast::launcher::FrontFlags;
using scorecast::launcher::InspectFlags;
using scorecast::launcher::kExitFailed;
using scorecast::launcher::RerankFlags;
using scorecast::launcher::ScoreFlags;
using scorecast::launcher::ServeFlags;
using scorecast::launcher::ServerFlags;
using scorecast::launcher::SuperviseFlags;
using scorecast::launcher::TokenizeFlags;

/// Runs a command and returns its exit code. If the command throws, returns kExitFailed and, if
/// `prints`, prints the message as one line.
int Guarded(bool prints, const std::function<int()>& command) {
  try {
    return command();
  } catch (const std::exception& fault) {
    if (prints) {
      std::fprintf(stderr, "scorecast: %s\n", scorecast::proto::FaultText(fault).c_str());
    }
    return kExitFailed;
  }
}

/// Runs a command on all ranks. The ranks agree on what failed, and rank 0 prints it. `threads` is
/// --threads.
int GuardedOnAllRanks(int threads, const std::function<int()>& command) {
  scorecast::launcher::CatchStatusSignal();
  scorecast::launcher::YieldIfCpusAreShared(threads);
  // Done before Open MPI starts, because it may need the space. Logged later, because the first
  // line of the log says that all ranks handle signals.
  const std::vector<std::string> removed =
      scorecast::launcher::RemoveLeftSegmentsOfHost(scorecast::launcher::ProcessEnvironment());
  const scorecast::proto::MpiEnvironment mpi;
  for (const std::string& line : removed) {
    scorecast::proto::Log(scorecast::proto::LogLevel::kInfo, line);
  }
  return Guarded(scorecast::proto::Communicator::World().is_root(), command);
}

/// Prints an error of the command line as one line. Every rank of a job finds the error, but only
/// one prints it.
int UsageFault(const CLI::App& app, const CLI::ParseError& fault, bool on_all_ranks) {
  const auto fail = [&]() -> int {
    throw scorecast::proto::StartupError(
        scorecast::proto::OneLine(scorecast::launcher::UsageFaultText(app, fault), 400) +
        " (see --help)");
  };
  return on_all_ranks ? GuardedOnAllRanks(/*threads=*/0, fail) : Guarded(true, fail);
}

/// Reads I/N. If the text has another form, returns a share without lines.
scorecast::coordinator::LineShare ShareFromText(const std::string& text) {
  scorecast::coordinator::LineShare share{-1, 0};
  const char* const end = text.data() + text.size();
  const auto [slash, fault] = std::from_chars(text.data(), end, share.index);
  if (fault != std::errc() || slash == end || *slash != '/') {
    return {-1, 0};
  }
  const auto [rest, count_fault] = std::from_chars(slash + 1, end, share.count);
  return count_fault == std::errc() && rest == end ? share
                                                   : scorecast::coordinator::LineShare{-1, 0};
}

std::string ShareFault(const std::string& text) {
  const scorecast::coordinator::LineShare share = ShareFromText(text);
  return share.index >= 0 && share.index < share.count
             ? ""
             : scorecast::proto::Quoted(text) + " is not I/N with 0 <= I < N";
}

void AddServeFlags(CLI::App& app, ServeFlags& flags) {
  AddEngineFlags(app, flags.engine);
  AddListeningFlags(app, flags);
  AddAccessFlags(app, flags.access, /*has_fronts=*/true);
  app.add_option("--health-port", flags.health_port,
                 "Further port for HTTP, at which only /health, /ready and /metrics are served, "
                 "whatever the clients of the other ports do; 0: any free one, -1: none")
      ->check(CLI::Range(-1, 65535))
      ->capture_default_str();
  app.add_option("--address-file", flags.address_file,
                 "File in which the service says where it is, when it is ready, and which it "
                 "removes when it ends: {\"host\":…,\"ip\":…,\"port\":…,\"http_port\":…,"
                 "\"pid\":…,\"job_id\":…}. Clients read it with --connect-file")
      ->type_name("FILE");
  app.add_option("--compress-replies", flags.http.web.compress_from,
                 "Bytes of a reply over HTTP from which it is compressed (gzip, zstd), if the "
                 "client's Accept-Encoding allows it; 0: never")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 30))
      ->type_name("BYTES")
      ->capture_default_str();
  app.add_option(
         "--max-pass-ms", flags.max_pass_ms,
         "Milliseconds that a forward pass is predicted to take, at most, so that a request "
         "never waits long for the pass in flight. The bound is longer if passes must be "
         "longer to reach 95 % of the throughput. 0: without bound")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{86'400'000}))
      ->capture_default_str();
  app.add_option("--max-queue", flags.max_queue,
                 "Requests that wait, at most; a further one is refused with 429")
      ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 20))
      ->capture_default_str();
  app.add_option("--max-queue-tokens", flags.max_queue_tokens,
                 "Tokens of the requests that wait, at most, where the query of a request counts "
                 "once; a further request is refused with 429, unless no other waits")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  flags.engine.server.trust_priority = false;
  app.add_flag(
      "--trust-priority", flags.engine.server.trust_priority,
      "A priority of a request that is better (lower) than 0 counts, unless the client's key "
      "has a limit for it. Without it, such a priority is 0, because any client could claim "
      "it");
  app.add_flag(
      "--metrics-clients", flags.metrics_clients,
      "/metrics also counts requests by client, and so names the clients: their keys' names, or "
      "their addresses");
  app.add_flag(
      "--no-page", flags.no_page,
      "GET / is the same as GET /health, instead of a page that shows the service at work and "
      "tries it out");
  app.add_option(
         "--write-calibration", flags.write_calibration,
         "Measures passes for up to half a minute before the service begins, and writes the "
         "times to this file, for inspect --hosts --calibration")
      ->type_name("FILE");
  app.add_option("--io-threads", flags.io_threads,
                 "Threads of rank 0 that read requests and write replies; as many more tokenize "
                 "longer texts, and as many form long replies")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
}

void AddFrontFlags(CLI::App& app, FrontFlags& flags) {
  AddReplicaFlags(app, flags);
  AddListeningFlags(app, flags);
  AddAccessFlags(app, flags.access, /*has_fronts=*/false);
  scorecast::launcher::AddLogLevelFlag(app, flags.log_level);
}

/// Removes the words after the first "--" from the command line and returns them.
std::vector<std::string> TakeCommand(int& argc, char** argv) {
  char** const end = argv + argc;
  char** const dashes = std::find(argv, end, std::string_view("--"));
  argc = static_cast<int>(dashes - argv);
  return dashes == end ? std::vector<std::string>() : std::vector<std::string>(dashes + 1, end);
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
      "Runs a file of requests in OpenAI's batch format, under mpirun or alone, or with --replicas "
      "by services. A run that was ended early goes on with the same command. On SIGTERM, SIGINT "
      "or "
      "SIGUSR1 it ends after the forward pass in flight, or with --replicas at once. Exit code: 0 "
      "if every line has status 200, 3 if some do not, 75 if "
      "lines are left, 1 if the run failed");
  AddEngineFlags(*batch, batch_flags.engine);
  batch
      ->add_option("--input", batch_flags.input,
                   "Requests, one JSON object per line; -: standard input. May be compressed with "
                   "gzip or zstd")
      ->required()
      ->type_name("FILE");
  batch
      ->add_option(
          "--output", batch_flags.output,
          "Responses, one line each, in the order of the input; -: standard output. Compressed "
          "if the name ends in .gz or .zst")
      ->required()
      ->type_name("FILE");
  batch
      ->add_option("--seed", batch_flags.seed,
                   "Seed of the run: a completion whose request gives no seed has one that follows "
                   "from this and the line's number")
      ->default_str("drawn, and logged; that of the run that goes on");
  batch->add_flag("--restart", batch_flags.restart,
                  "Drops what the output has, and begins anew. Otherwise an output that is not "
                  "empty must be that of the same run");
  batch
      ->add_option_function<std::string>(
          "--shard",
          [&batch_flags](const std::string& text) { batch_flags.share = ShareFromText(text); },
          "Computes only the lines I, I + N, I + 2N, … of the input, counted from 0 without blank "
          "lines: one of N runs, with an output of its own. 0 <= I < N")
      ->check(CLI::Validator(ShareFault, "I/N"))
      ->default_str("0/1");
  batch->add_flag("--ok-with-refusals", batch_flags.ok_with_refusals,
                  "Ends with exit code 0, not 3, if the run is done and some lines do not have "
                  "status 200");
  CLI::Option* const dry_run = batch->add_flag(
      "--dry-run", batch_flags.dry_run,
      "Checks the flags, the model against the ranks, the memory, the input and the output, counts "
      "the lines, and prints what it finds. Computes nothing and changes no file. Exit code: 0, or "
      "1 if the run could not start");
  CLI::Option* const ranks =
      batch
          ->add_option("--ranks", batch_flags.ranks,
                       "With --dry-run and without mpirun: ranks that the run will have")
          ->check(CLI::Range(1, 65536))
          ->needs(dry_run)
          ->default_str("those of mpirun");
  batch
      ->add_option("--ranks-per-host", batch_flags.ranks_per_host,
                   "How many of --ranks share the memory of a host like this one")
      ->check(CLI::Range(1, 65536))
      ->needs(ranks)
      ->capture_default_str();
  scorecast::launcher::AddReplicaBatchFlags(*batch, batch_flags.replicas);

  ServeFlags serve_flags;
  CLI::App* serve = app.add_subcommand(
      "serve",
      "Listens for requests, under mpirun or alone. On SIGTERM, SIGINT or (through mpirun) "
      "SIGUSR1 it finishes the requests it has, for --drain-seconds at most, then exits");
  AddServeFlags(*serve, serve_flags);

  FrontFlags front_flags;
  CLI::App* front = app.add_subcommand(
      "front",
      "Stands before several services, without MPI: takes requests as they do, hands each to the "
      "service where it is predicted to end first, and to another one if that is lost. On SIGTERM, "
      "SIGINT or SIGUSR1 it finishes the requests it has, for --drain-seconds at most, then exits");
  AddFrontFlags(*front, front_flags);
  DrainFlags drain_flags;
  CLI::App* drain =
      front->add_subcommand("drain",
                            "Lets a front send one of its services no further requests, and ends "
                            "when that has replied to "
                            "those that it has. It can then be ended without a request being lost");
  AddDrainFlags(*drain, drain_flags);
  CLI::App* undrain =
      front->add_subcommand("undrain", "Lets a front send a service requests again");
  AddDrainFlags(*undrain, drain_flags);
  front->callback([front] {
    // CLI11 would ask for flags that are `required` if there is a command behind them, too.
    for (const char* flag : {"--replicas", "--front-key"}) {
      if (front->get_subcommands().empty() && front->count(flag) == 0) {
        throw CLI::RequiredError(flag);
      }
    }
  });

  SuperviseFlags supervise_flags;
  CLI::App* supervise = app.add_subcommand(
      "supervise",
      "Runs a service and starts it again if it fails: scorecast supervise [OPTIONS] -- mpirun … "
      "scorecast serve …. Holds the listening sockets meanwhile, so that new clients wait. On "
      "SIGTERM, SIGINT, SIGHUP or SIGUSR1 it lets the service finish the requests it has, then "
      "exits with 0");
  supervise
      ->add_option("--max-restarts", supervise_flags.max_restarts,
                   "Restarts without a minute of service between them, after which it gives up. A "
                   "service that fails before it was ever ready is not started again")
      ->check(CLI::Range(0, 1000000))
      ->capture_default_str();
  scorecast::launcher::AddLogLevelFlag(*supervise, supervise_flags.log_level);

  ScoreFlags score_flags;
  CLI::App* score = app.add_subcommand(
      "score",
      "Sends one request to a server and prints one line per item: the scores of the labels, or of "
      "a classifier's classes, then the item");
  AddScoreFlags(*score, score_flags);

  RerankFlags rerank_flags;
  CLI::App* rerank = app.add_subcommand(
      "rerank",
      "Sends documents to a server that reranks, and prints them best first: score, bar, document");
  AddRerankFlags(*rerank, rerank_flags);

  DecideFlags decide_flags;
  CLI::App* decide = app.add_subcommand(
      "decide",
      "Sends questions about a state to a server, and prints for each the probability of each "
      "answer, with > before the most likely one");
  AddDecideFlags(*decide, decide_flags);

  CalibrateFlags calibrate_flags;
  CLI::App* calibrate = app.add_subcommand(
      "calibrate",
      "Asks a server questions whose answers are known, finds the temperatures of its decision "
      "template that fit, and prints for each type of question how good the answers are before and "
      "after. About half of the lines are held out, by a digest of their requests: they measure, "
      "and are "
      "not used to fit. A type with fewer than 50 questions to fit keeps its temperature");
  calibrate
      ->add_option("--input", calibrate_flags.input,
                   "Bodies of /v1/systemone, one per line, each with labels: the right answers by "
                   "question id (true or false, an option, or the index of a level from 0); -: "
                   "standard input. May be compressed with gzip or zstd")
      ->required()
      ->type_name("FILE");
  calibrate
      ->add_option("--output", calibrate_flags.output,
                   "Gets the line \"temperature: …\" for the server's decision template")
      ->required()
      ->type_name("FILE");
  AddServerFlags(*calibrate, calibrate_flags.server);

  TokenizeFlags tokenize_flags;
  CLI::App* tokenize = app.add_subcommand(
      "tokenize", R"(Reads {"text":...} lines from standard input and prints {"ids":[...]} lines)");
  tokenize
      ->add_option(
          "--model", tokenize_flags.model,
          "Directory with tokenizer.json, tokenizer.model or vocab.txt; weights are not needed")
      ->required()
      ->type_name("DIR");
  tokenize->add_flag("--no-special", tokenize_flags.no_special,
                     "Leaves out the tokens that the tokenizer adds by itself (BOS, EOS)");
  scorecast::launcher::AddSpecialTokensFlag(*tokenize, tokenize_flags.special_tokens);

  ServerFlags reload_flags;
  CLI::App* reload = app.add_subcommand("reload",
                                        "Lets a server read its --api-keys again at once, and "
                                        "prints what has changed. If the file has "
                                        "a fault, the server keeps its keys");
  AddConnectionFlags(*reload, reload_flags);

  std::string key_name;
  CLI::App* key = app.add_subcommand("key", "Makes keys for --api-keys");
  key->require_subcommand(1);
  key->add_subcommand("new",
                      "Prints a fresh random key, and then the line for the file of --api-keys, "
                      "which has only its SHA-256")
      ->add_option("NAME", key_name, "Name of the client that gets the key")
      ->check(CLI::Validator(
          [](const std::string& text) { return scorecast::coordinator::KeyNameFault(text); }, ""))
      ->required();

  InspectFlags inspect_flags;
  CLI::App* inspect = app.add_subcommand(
      "inspect",
      "Prints the model, its split over ranks, and the memory that each rank needs; with --hosts, "
      "how fast a cluster is predicted to compute it");
  AddEngineFlags(*inspect, inspect_flags.engine);
  inspect->add_option("--ranks", inspect_flags.ranks, "Ranks to split the model over")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  CLI::Option* const keys = inspect->add_flag(
      "--keys", inspect_flags.keys,
      "Prints the keys of the model's files, and whether each is followed, has no effect, is "
      "refused, or is read by nobody. Its directory may follow without --model");
  CLI::Option* const model = inspect->get_option("--model");
  CLI::Option* const model_of_keys =
      inspect->add_option("DIR", inspect_flags.engine.model, "The model directory, with --keys")
          ->needs(keys)
          ->excludes(model);
  model->required(false);
  AddInspectHostsFlags(*inspect, inspect_flags.hosts);

  if (argc > 1 && argv[1] == std::string_view("supervise")) {
    supervise_flags.command = TakeCommand(argc, argv);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& end) {
    if (end.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
      return app.exit(end);  // --help and --version
    }
    const bool has_ranks =
        (batch->parsed() && batch_flags.replicas.replicas.empty()) || serve->parsed();
    return UsageFault(app, end, has_ranks);
  }

  if (*tokenize) {
    return Guarded(true, [&] { return RunTokenizeCommand(tokenize_flags); });
  }
  if (*inspect) {
    return Guarded(true, [&] {
      if (model->count() + model_of_keys->count() == 0) {
        throw scorecast::proto::StartupError("--model is required (see --help)");
      }
      return inspect_flags.keys ? RunInspectKeysCommand(inspect_flags)
                                : RunInspectCommand(inspect_flags);
    });
  }
  if (*reload) {
    return Guarded(true, [&] { return RunReloadCommand(reload_flags); });
  }
  if (*key) {
    return Guarded(true, [&] { return scorecast::launcher::RunNewKeyCommand(key_name); });
  }
  if (*score) {
    return Guarded(true, [&] { return RunScoreCommand(score_flags); });
  }
  if (*rerank) {
    return Guarded(true, [&] { return RunRerankCommand(rerank_flags); });
  }
  if (*calibrate) {
    return Guarded(true, [&] { return RunCalibrateCommand(calibrate_flags); });
  }
  if (*decide) {
    return Guarded(true, [&] { return RunDecideCommand(decide_flags); });
  }
  if (*drain) {
    return Guarded(true, [&] { return RunDrainCommand(drain_flags); });
  }
  if (*undrain) {
    return Guarded(true, [&] { return RunUndrainCommand(drain_flags); });
  }
  if (*front) {
    scorecast::proto::StartLog(front_flags.log_level);
    return Guarded(true, [&] { return RunFrontCommand(front_flags); });
  }
  if (*supervise) {
    scorecast::proto::StartLog(supervise_flags.log_level);
    return Guarded(true, [&] { return RunSuperviseCommand(supervise_flags); });
  }
  if (*serve) {
    scorecast::proto::StartLog(serve_flags.engine.log_level);
    scorecast::launcher::UseSupervisorsDirectory();
    return GuardedOnAllRanks(serve_flags.engine.threads,
                             [&] { return RunServeCommand(serve_flags); });
  }
  scorecast::proto::StartLog(batch_flags.engine.log_level);
  // Called on every rank, because mpirun passes signals on to all of them, even while Open MPI
  // starts.
  scorecast::launcher::EndSignals::Get();
  if (!batch_flags.replicas.replicas.empty()) {
    return Guarded(true, [&] { return RunReplicaBatchCommand(batch_flags); });
  }
  return GuardedOnAllRanks(batch_flags.engine.threads,
                           [&] { return RunBatchCommand(batch_flags); });
}
