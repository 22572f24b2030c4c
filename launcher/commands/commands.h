#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/text/steps/encode_options.h"
#include "coordinator/transports/batch/line_share.h"
#include "launcher/client/client_command.h"
#include "launcher/commands/listening_flags.h"
#include "launcher/commands/replica_flags.h"
#include "launcher/engine/engine_flags.h"

namespace scorecast::launcher {

/// Exit codes of every command. `batch` and `tokenize` exit with 3 if the run finished but some
/// lines failed.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitLinesFailed = 3;
/// All requests got their responses, but the ranks did not come back from the last pass (`serve`),
/// or did not end, in time.
inline constexpr int kExitRanksStuck = 72;
/// The run was ended early and has lines left (`batch`). The same command continues it.
inline constexpr int kExitInterrupted = 75;

struct BatchFlags {
  EngineFlags engine;                 ///< Not used with replicas, but for the level of the log.
  ReplicaFlags replicas;              ///< What computes the lines; empty: this job.
  std::string input;                  ///< A path, or "-" for standard input.
  std::string output;                 ///< A path, or "-" for standard output.
  std::optional<std::uint64_t> seed;  ///< See BatchOptions::seed; drawn if it is not set.
  bool restart = false;               ///< Drops what the output has.
  coordinator::LineShare share;
  bool ok_with_refusals = false;  ///< Ends with kExitOk although some lines failed.
  bool dry_run = false;           ///< Checks what can be checked without computing.
  std::optional<int> ranks;       ///< Ranks of a dry run by one process. Unset: the job's ranks.
  int ranks_per_host = 1;         ///< Of these, ranks on each host.
};

struct ServeFlags : ListeningFlags {
  EngineFlags engine;
  int health_port = -1;                ///< 0: any free one; -1: none.
  std::filesystem::path address_file;  ///< See AddressFile; empty: none.
  std::int64_t max_pass_ms = 200;      ///< 0: without bound.
  std::size_t max_queue = 1024;
  std::int64_t max_queue_tokens = std::int64_t{1} << 20;
  int io_threads = 2;
  bool metrics_clients = false;             ///< Whether /metrics names clients.
  bool no_page = false;                     ///< GET / is no page, but the same as GET /health.
  std::filesystem::path write_calibration;  ///< Gets a CostCalibration; empty: none is measured.
};

struct FrontFlags : ListeningFlags, ReplicaFlags {
  std::string log_level = "info";
};

struct SuperviseFlags {
  int max_restarts = 10;
  std::string log_level = "info";
  std::vector<std::string> command;  ///< A launcher and its arguments: mpirun … scorecast serve ….
};

/// Of `inspect --hosts`.
struct InspectHostsFlags {
  int hosts = 0;  ///< 0: not given.
  int cores = 0;
  std::vector<std::filesystem::path> calibrations;
  double bandwidth = 0;         ///< Gbit/s of a host's card in each direction.
  double latency = 0;           ///< Microseconds of a message beyond those of the calibration.
  double memory_bandwidth = 0;  ///< GB/s of a host; 0: no limit.
  std::optional<double> host_memory;  ///< GiB. Unset: that of this host.
  std::int64_t query_tokens = 50;
  std::int64_t items = 50;
  std::int64_t item_tokens = 150;
  bool json = false;
};

struct InspectFlags {
  EngineFlags engine;
  int ranks = 1;
  bool keys = false;  ///< Prints what becomes of the keys of the model's files, and nothing else.
  InspectHostsFlags hosts;
};

struct CalibrateFlags {
  ServerFlags server;
  std::string input;             ///< Labelled requests; "-": standard input.
  std::filesystem::path output;  ///< Gets the line of a template.
};

struct TokenizeFlags {
  std::filesystem::path model;
  bool no_special = false;
  coordinator::SpecialTokensInText special_tokens = coordinator::SpecialTokensInText::kAllow;
};

// Each function runs one command and returns its exit code, or throws StartupError.

/// Called on every rank of the job.
int RunBatchCommand(const BatchFlags& flags);
/// The same by replicas, without MPI.
int RunReplicaBatchCommand(const BatchFlags& flags);
/// Called on every rank of the job. Returns after a signal has ended the server.
int RunServeCommand(const ServeFlags& flags);
/// Stands before several services. Returns after a signal has ended it.
int RunFrontCommand(const FrontFlags& flags);
/// Runs a service and starts it again when it fails.
int RunSuperviseCommand(const SuperviseFlags& flags);
int RunInspectCommand(const InspectFlags& flags);
/// The same for --keys.
int RunInspectKeysCommand(const InspectFlags& flags);
int RunTokenizeCommand(const TokenizeFlags& flags);
/// Prints a fresh key, and then the line for the file of keys.
int RunNewKeyCommand(const std::string& name);
/// Asks a server labelled questions, writes the temperatures that fit its answers, and prints how
/// good the answers are before and after. Throws std::runtime_error if a line is faulty or refused,
/// or if no reply comes in time; the output then stays as it was.
int RunCalibrateCommand(const CalibrateFlags& flags);

}  // namespace scorecast::launcher
