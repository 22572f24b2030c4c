#include "launcher/commands/command_line.h"

#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <gtest/gtest.h>

namespace scorecast::launcher {
namespace command_line_test {

/// What is wrong with the arguments of a program that has two commands.
std::string UsageFaultOf(std::vector<std::string> arguments) {
  CLI::App app{"", "program"};
  app.require_subcommand(1);
  std::string model;
  std::string connect;
  int ranks = 1;
  bool quiet = false;
  CLI::App* inspect = app.add_subcommand("inspect", "");
  inspect->add_option("--model", model, "")->required()->type_name("DIR");
  inspect->add_option("--ranks", ranks, "");
  inspect->add_flag("--quiet", quiet, "");
  CLI::App* score = app.add_subcommand("score", "");
  CLI::Option_group* server = score->add_option_group("Server");
  server->add_option("--connect", connect, "");
  server->add_option("--connect-file", connect, "");
  server->require_option(1);
  arguments.insert(arguments.begin(), "program");
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

TEST(UsageFaultText, NamesUnknownArgumentsInTheirOrder) {
  EXPECT_EQ(UsageFaultOf({"inspect", "--model", "m"}), "");
  EXPECT_EQ(UsageFaultOf({"inspect", "--model", "m", "--first", "1", "--second", "2"}),
            "unknown arguments: --first 1 --second 2");
  EXPECT_EQ(UsageFaultOf({"inspect", "--first", "--model", "m"}), "unknown argument: --first");
  EXPECT_EQ(UsageFaultOf({"--first", "inspect", "--model", "m", "--second"}),
            "unknown arguments: --first --second");
}

TEST(UsageFaultText, NamesAMisspeltFlagAndNotTheOneThatIsMissing) {
  EXPECT_EQ(UsageFaultOf({"inspect", "--modle", "m"}),
            "unknown arguments: --modle m; did you mean --model?");
  EXPECT_EQ(UsageFaultOf({"inspect", "--models=m"}),
            "unknown argument: --models=m; did you mean --model?");
  EXPECT_EQ(UsageFaultOf({"inspect", "--frobnicate"}), "unknown argument: --frobnicate");
  EXPECT_EQ(UsageFaultOf({"inspect"}), "--model is required");
}

TEST(UsageFaultText, SaysWhatReplacesAFlagOfAnotherEngine) {
  EXPECT_EQ(UsageFaultOf({"inspect", "--model", "m", "--disable-radix-cache"}),
            "unknown argument: --disable-radix-cache; --disable-radix-cache: --kv-cache-mb 0 turns "
            "the cache off");
  EXPECT_EQ(UsageFaultOf({"inspect", "--model", "m", "--chunked-prefill-size=-1"}),
            "unknown argument: --chunked-prefill-size=-1; --chunked-prefill-size: not needed: "
            "long requests are computed in several passes, of --max-batch-tokens and --max-pass-ms "
            "at most");
  EXPECT_EQ(UsageFaultOf({"inspect", "--model-path", "m", "--tp", "2"}),
            "unknown arguments: --model-path m --tp 2; --model-path: the model's directory is "
            "--model; --tp: the number of ranks is mpirun's -n, and any number up to the attention "
            "heads will do");
}

TEST(UsageFaultText, NamesTheCommandsIfNoneIsGiven) {
  EXPECT_EQ(UsageFaultOf({}), "a command is missing: give inspect or score");
  EXPECT_EQ(UsageFaultOf({"frobnicate", "--model", "m"}),
            "\"frobnicate\" is not a command: give inspect or score");
  EXPECT_EQ(UsageFaultOf({"inspcet"}),
            "\"inspcet\" is not a command: give inspect or score; did you mean inspect?");
}

TEST(UsageFaultText, SaysWhatIsWrongWithAFlag) {
  EXPECT_EQ(UsageFaultOf({"inspect", "--model"}), "--model needs a value");
  EXPECT_EQ(UsageFaultOf({"inspect", "--model", "a", "--model", "b"}),
            "--model is given more than once");
  EXPECT_EQ(UsageFaultOf({"inspect", "--model", "a", "--ranks", "many"}),
            "--ranks: \"many\" is not a value that it can have");
  EXPECT_EQ(UsageFaultOf({"inspect", "--model", "a", "--quiet=maybe"}),
            "--quiet: \"maybe\" is not a value that it can have");
  EXPECT_EQ(UsageFaultOf({"score"}), "exactly one of these is needed: --connect,--connect-file");
}

}  // namespace command_line_test
}  // namespace scorecast::launcher
