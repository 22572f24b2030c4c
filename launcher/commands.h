#pragma once

#include <filesystem>
#include <string>

#include "coordinator/transports/socket/socket_options.h"
#include "launcher/engine_flags.h"

namespace scorecast::launcher {

/// Exit codes of every command; `batch` and `tokenize` have 3 too: the run went through, but not
/// every line was good.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;

struct BatchFlags {
  EngineFlags engine;
  std::string input;   ///< A path, or "-" for standard input.
  std::string output;  ///< A path, or "-" for standard output.
};

struct ServeFlags {
  EngineFlags engine;
  coordinator::SocketOptions socket;  ///< `max_request_bytes` is the engine flags'.
  std::size_t max_queue = 1024;
  int io_threads = 2;
};

struct InspectFlags {
  EngineFlags engine;
  int ranks = 1;
};

struct TokenizeFlags {
  std::filesystem::path model;
  bool no_special = false;
};

// Each runs one command to its end and returns the exit code, or throws StartupError.

/// On every rank of the job.
int RunBatchCommand(const BatchFlags& flags);
/// On every rank of the job, until a signal ends it.
int RunServeCommand(const ServeFlags& flags);
int RunInspectCommand(const InspectFlags& flags);
int RunTokenizeCommand(const TokenizeFlags& flags);

}  // namespace scorecast::launcher
