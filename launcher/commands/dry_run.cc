#include "launcher/commands/dry_run.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include <spdlog/fmt/fmt.h>

#include "coordinator/transports/batch/files/input_file.h"
#include "coordinator/transports/batch/own_lines.h"
#include "launcher/host/host_resources.h"
#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "shard/model/tensors.h"

namespace scorecast::launcher {
namespace {

using coordinator::InputFile;
using coordinator::RunFiles;

struct LineCounts {
  std::int64_t all = 0;
  std::int64_t own = 0;       ///< Lines of this run's share.
  std::int64_t too_long = 0;  ///< Without lines that an earlier run has computed.
};

void Print(std::string_view name, const std::string& text) {
  std::fputs(fmt::format("{:<9} {}\n", name, text).c_str(), stdout);
}

std::string NameOf(const std::string& path, std::string_view stream) {
  return path == "-" ? std::string(stream) : proto::OneLinePath(path);
}

/// Reads the input from the place at which the run begins to the end. Null if stopped.
std::optional<LineCounts> CountLines(RunFiles& files, const coordinator::LineShare& share,
                                     const std::function<bool()>& is_stopped) {
  // Reads all lines, because lines behind the last one of the share belong to other shares.
  coordinator::OwnLines lines(files.input(), {}, files.begin());
  LineCounts counts{files.begin().lines, files.begin().records()};
  std::string line;
  while (!is_stopped()) {
    const InputFile::Result result = lines.Next(line);
    if (result == InputFile::Result::kEnd) {
      if (!files.input().failure().empty()) {
        throw proto::StartupError(files.input().failure());
      }
      return counts;
    }
    ++counts.all;
    if (share.Has(lines.number())) {
      ++counts.own;
      counts.too_long += result == InputFile::Result::kTooLong ? 1 : 0;
    }
  }
  return std::nullopt;
}

void PrintEngine(const Engine& engine) {
  const proto::ModelConfig& config = engine.config();
  Print("model", fmt::format("{}: {}, {} parameters, {} layers, {} query and {} K/V heads",
                             engine.server_options().model_name, config.architecture,
                             shard::CountParameters(config), config.num_hidden_layers(),
                             config.num_attention_heads, config.num_key_value_heads));
  Print("ranks",
        fmt::format("{}, dtype {}, kernels {}", engine.ranks(), engine.dtype(), engine.kernels()));
  const shard::MemoryEstimate& memory = engine.memory_estimate();
  Print("memory", fmt::format("rank 0 needs {} (weights {}, activations {}, K/V {}) of {}",
                              Gib(memory.total()), Gib(memory.weights), Gib(memory.activations),
                              Gib(memory.kv), MemoryText(engine.share().memory)));
}

}  // namespace

bool ReportDryRun(const BatchFlags& flags, const Engine& engine, RunFiles& files,
                  const std::function<bool()>& is_stopped) {
  std::optional<LineCounts> counts;
  if (files.has_input()) {
    counts = CountLines(files, flags.share, is_stopped);
    if (!counts) {
      return false;
    }
  }
  PrintEngine(engine);
  const std::string input = NameOf(flags.input, "standard input");
  const std::string output = NameOf(flags.output, "standard output");
  const std::int64_t done = files.begin().records();
  if (!counts) {
    Print("input", input + ": no regular file, so its lines are not counted");
  } else {
    std::string text = input + ": " + proto::Count(counts->all, "line");
    if (flags.share.count > 1) {
      text += fmt::format(", {} of them in --shard {}", counts->own, flags.share.ToText());
    }
    if (counts->too_long > 0) {
      text += fmt::format("; {} longer than --max-request-bytes", counts->too_long);
    }
    Print("input", text);
  }
  Print("output", output + ": " +
                      (done > 0        ? fmt::format("goes on behind record {}", done)
                       : flags.restart ? "begins anew"
                                       : "begins"));
  if (!files.no_resumption_reason().empty()) {
    Print("", "cannot go on if it is ended early, because " + files.no_resumption_reason());
  }
  if (counts) {
    Print("done", fmt::format("{} of {}", done, proto::Count(counts->own, "line")));
  }
  std::fflush(stdout);
  return true;
}

}  // namespace scorecast::launcher
