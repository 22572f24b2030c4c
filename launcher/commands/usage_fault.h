#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace scorecast::launcher {

/// What is wrong with a command line that `app` has failed to parse, in one sentence. Arguments
/// that no command knows come first, in the order in which they were given, because a flag that is
/// missing may be one that was misspelt.
std::string UsageFaultText(const CLI::App& app, const CLI::ParseError& fault);

}  // namespace scorecast::launcher
