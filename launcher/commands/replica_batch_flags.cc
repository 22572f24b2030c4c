#include "launcher/commands/replica_batch_flags.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace scorecast::launcher {
namespace {

/// The flags of `batch` that say nothing of an engine.
constexpr auto kOwnFlags = std::to_array<std::string_view>(
    {"--front-key", "--help", "--input", "--log-level", "--ok-with-refusals", "--output",
     "--replica-tls", "--replica-tls-ca", "--replicas", "--restart", "--seed", "--shard"});

/// Those that were given and belong to an engine: "--model, --dtype".
std::string EngineFlagsIn(const CLI::App& batch) {
  std::string names;
  for (const CLI::Option* const option : batch.get_options()) {
    const std::string name = option->get_name();
    if (option->count() > 0 && std::ranges::find(kOwnFlags, name) == kOwnFlags.end()) {
      names += (names.empty() ? "" : ", ") + name;
    }
  }
  return names;
}

}  // namespace

void AddReplicaBatchFlags(CLI::App& batch, ReplicaFlags& flags) {
  const ReplicaFlagOptions options = AddReplicaFlags(batch, flags);
  for (CLI::Option* const option : {options.front_key, options.tls, options.tls_ca}) {
    option->needs(options.replicas);
  }
  CLI::Option* const model = batch.get_option("--model");
  model->required(false)->description(model->get_description() + "; needed without --replicas");
  batch.callback([&batch, options, model] {
    if (options.replicas->count() == 0) {
      if (model->count() == 0) {
        throw CLI::RequiredError(model->get_name());
      }
      return;
    }
    const std::string engine = EngineFlagsIn(batch);
    if (!engine.empty()) {
      throw CLI::ValidationError("--replicas cannot be given with " + engine +
                                 ": the services compute, and have flags of their own");
    }
    if (options.front_key->count() == 0) {
      throw CLI::RequiredError(options.front_key->get_name());
    }
  });
}

}  // namespace scorecast::launcher
