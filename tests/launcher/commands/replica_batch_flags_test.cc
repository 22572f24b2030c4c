#include "launcher/commands/replica_batch_flags.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "launcher/commands/command_line.h"
#include "launcher/engine/engine_flags.h"

namespace scorecast::launcher {
namespace replica_batch_flags_test {

using ::testing::HasSubstr;

/// What is wrong with the arguments of `batch`.
std::string FaultOf(std::vector<std::string> arguments) {
  CLI::App app{"", "program"};
  app.require_subcommand(1);
  CLI::App* const batch = app.add_subcommand("batch", "");
  EngineFlags engine;
  ReplicaFlags replicas;
  std::string input;
  bool dry_run = false;
  AddEngineFlags(*batch, engine);
  batch->add_option("--input", input, "");
  batch->add_flag("--dry-run", dry_run, "");
  AddReplicaBatchFlags(*batch, replicas);
  arguments.insert(arguments.begin(), {"program", "batch"});
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) {
    argv.push_back(argument.c_str());
  }
  try {
    app.parse(static_cast<int>(argv.size()), argv.data());
  } catch (const CLI::ParseError& fault) {
    return UsageFaultText(app, fault);
  }
  return "";
}

TEST(ReplicaBatchFlags, NeedAKeyAndNoModel) {
  EXPECT_EQ(FaultOf({"--replicas", "r", "--front-key", "k", "--input", "i"}), "");
  EXPECT_EQ(FaultOf({"--replicas", "r", "--front-key", "k", "--replica-tls-ca", "c", "--log-level",
                     "debug"}),
            "");
  EXPECT_EQ(FaultOf({"--replicas", "r"}), "--front-key is required");
}

TEST(ReplicaBatchFlags, WithoutThemThereMustBeAModel) {
  EXPECT_EQ(FaultOf({"--model", "m"}), "");
  EXPECT_EQ(FaultOf({"--input", "i"}), "--model is required");
  EXPECT_THAT(FaultOf({"--model", "m", "--front-key", "k"}), HasSubstr("--replicas"));
  EXPECT_THAT(FaultOf({"--model", "m", "--replica-tls"}), HasSubstr("--replicas"));
}

TEST(ReplicaBatchFlags, AreNotForAnEngine) {
  const std::vector<std::string> given = {"--replicas", "r", "--front-key", "k"};
  const auto fault_with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), given.begin(), given.end());
    return FaultOf(more);
  };
  EXPECT_EQ(fault_with({"--dtype", "int8", "--model", "m"}),
            "--replicas cannot be given with --model, --dtype: the services compute, and have "
            "flags of their own");
  EXPECT_THAT(fault_with({"--dry-run"}), HasSubstr("with --dry-run:"));
  EXPECT_THAT(fault_with({"--threads", "0"}), HasSubstr("with --threads:")) << "its default, too";
}

}  // namespace replica_batch_flags_test
}  // namespace scorecast::launcher
