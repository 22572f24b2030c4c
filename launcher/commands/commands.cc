// Commands that only pass their flags on.

#include "launcher/commands/commands.h"

#include <iostream>
#include <memory>

#include "coordinator/access/api_key.h"
#include "coordinator/decisions/decision_template.h"
#include "coordinator/rerank/rerank_template.h"
#include "coordinator/text/tokenize_lines.h"
#include "coordinator/text/tokenizer.h"
#include "launcher/supervisor/supervisor.h"
#include "launcher/supervisor/systemd_sockets.h"
#include "proto/base/error.h"

namespace scorecast::launcher {

int RunSuperviseCommand(const SuperviseFlags& flags) {
  if (flags.command.empty()) {
    throw proto::StartupError(
        "supervise needs the command to run behind --: scorecast supervise -- mpirun -n 2 "
        "scorecast serve --model DIR (see --help)");
  }
  RestartLimits limits;
  limits.max_restarts = flags.max_restarts;
  return Supervisor(flags.command, limits, TakeSystemdSockets()).Run();
}

int RunTokenizeCommand(const TokenizeFlags& flags) {
  const std::unique_ptr<coordinator::Tokenizer> tokenizer = coordinator::LoadTokenizer(
      flags.model, coordinator::ControlTokensOfTemplates(/*flag_value=*/{}) +
                       coordinator::ControlTokensOfDecisions(flags.model, /*flag_value=*/{}));
  if (tokenizer == nullptr) {
    throw proto::StartupError(flags.model.string() +
                              " has no tokenizer.json, tokenizer.model or vocab.txt");
  }
  std::ios::sync_with_stdio(false);
  return coordinator::TokenizeLines(*tokenizer, {.special_tokens = flags.special_tokens},
                                    !flags.no_special, std::cin, std::cout);
}

int RunNewKeyCommand(const std::string& name) {
  const std::string key = coordinator::NewKey();
  std::cout << key << '\n'
            << coordinator::KeyLine(name, coordinator::KeyDigest::Of(key)) << '\n'
            << std::flush;
  std::cerr << "scorecast: the first line is the key, for the client; the second one is for the "
               "file of --api-keys\n";
  if (!std::cout) {
    throw proto::StartupError("cannot write to standard output");
  }
  return kExitOk;
}

}  // namespace scorecast::launcher
