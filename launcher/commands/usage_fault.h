#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace scorecast::launcher {

/// Says in one sentence what is wrong with a command line that `app` has failed to parse. Unknown
/// arguments come first, in the order given, because a missing flag may be one that was misspelt.
std::string UsageFaultText(const CLI::App& app, const CLI::ParseError& fault);

}  // namespace scorecast::launcher
