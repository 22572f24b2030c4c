#include "launcher/commands/usage_fault.h"

#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "proto/base/one_line.h"

namespace scorecast::launcher {
namespace {

/// "batch, serve or inspect"
std::string CommandNames(const CLI::App& app) {
  const std::vector<const CLI::App*> commands =
      app.get_subcommands([](const CLI::App* /*command*/) { return true; });
  std::string names;
  for (std::size_t i = 0; i < commands.size(); ++i) {
    names += i == 0 ? "" : i + 1 == commands.size() ? " or " : ", ";
    names += commands[i]->get_name();
  }
  return names;
}

std::string UnknownText(const std::vector<std::string>& unknown) {
  std::string text = unknown.size() == 1 ? "unknown argument:" : "unknown arguments:";
  for (const std::string& argument : unknown) {
    text += " " + argument;
  }
  return text;
}

/// The text between `before` and `after`. Empty if `text` does not have both.
std::string_view Between(std::string_view text, std::string_view before, std::string_view after) {
  const std::size_t begin = text.find(before);
  if (begin == std::string_view::npos) {
    return {};
  }
  text.remove_prefix(begin + before.size());
  const std::size_t end = text.find(after);
  return end == std::string_view::npos ? std::string_view() : text.substr(0, end);
}

/// CLI11's sentence, or a plainer one. CLI11 gives the flag's name and value only in its sentences,
/// so they are taken from there.
std::string Reworded(std::string_view text) {
  if (const auto flag = Between(text, "", ": At Most 1 required but received"); !flag.empty()) {
    return std::string(flag) + " is given more than once";
  }
  if (const auto flag = Between(text, "", ": 1 required "); !flag.empty()) {
    return std::string(flag) + " needs a value";
  }
  constexpr std::string_view kConversion = "Could not convert: ";
  if (const auto flag = Between(text, kConversion, " = "); !flag.empty()) {
    const std::string_view value = text.substr(kConversion.size() + flag.size() + 3);
    return std::string(flag) + ": " + proto::Quoted(value) + " is not a value that it can have";
  }
  if (const auto flags = Between(text, "Exactly 1 option from [", "] is required");
      !flags.empty()) {
    return "exactly one of these is needed: " + std::string(flags);
  }
  return std::string(text);
}

}  // namespace

std::string UsageFaultText(const CLI::App& app, const CLI::ParseError& fault) {
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  const bool is_incomplete = dynamic_cast<const CLI::RequiredError*>(&fault) != nullptr;
  if (is_incomplete && app.get_subcommands().empty()) {
    return (unknown.empty() ? "a command is missing"
                            : proto::Quoted(unknown.front()) + " is not a command") +
           ": give " + CommandNames(app);
  }
  const bool has_extras = dynamic_cast<const CLI::ExtrasError*>(&fault) != nullptr;
  return (is_incomplete || has_extras) && !unknown.empty() ? UnknownText(unknown)
                                                           : Reworded(fault.what());
}

}  // namespace scorecast::launcher
