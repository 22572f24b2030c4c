#include <iostream>
#include <memory>

#include "coordinator/rerank/rerank_template.h"
#include "coordinator/text/tokenize_lines.h"
#include "coordinator/text/tokenizer.h"
#include "launcher/commands/commands.h"
#include "proto/base/error.h"

namespace scorecast::launcher {

int RunTokenizeCommand(const TokenizeFlags& flags) {
  const std::unique_ptr<coordinator::Tokenizer> tokenizer = coordinator::LoadTokenizer(
      flags.model, coordinator::ControlTokensOfTemplates(/*flag_value=*/{}));
  if (tokenizer == nullptr) {
    throw proto::StartupError(flags.model.string() +
                              " has neither tokenizer.json nor tokenizer.model");
  }
  std::ios::sync_with_stdio(false);
  return coordinator::TokenizeLines(*tokenizer, {.special_tokens = flags.special_tokens},
                                    !flags.no_special, std::cin, std::cout);
}

}  // namespace scorecast::launcher
