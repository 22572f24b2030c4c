#pragma once

#include <string>

#include "coordinator/text/steps/encode_options.h"
#include "launcher/engine/engine_flags.h"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace scorecast::launcher {

// Parts of the command line that several commands share, or that tests check.

/// Adds the flags of every command that starts an engine.
void AddEngineFlags(CLI::App& app, EngineFlags& flags);

/// Adds --special-tokens-in-text.
void AddSpecialTokensFlag(CLI::App& app, coordinator::SpecialTokensInText& special_tokens);

/// Adds --log-level.
void AddLogLevelFlag(CLI::App& app, std::string& log_level);

/// Says in one sentence what is wrong with a command line that `app` has failed to parse. Unknown
/// arguments come first, in the order given, because a missing flag may be one that was misspelt.
std::string UsageFaultText(const CLI::App& app, const CLI::ParseError& fault);

}  // namespace scorecast::launcher
