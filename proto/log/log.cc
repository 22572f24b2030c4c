#include "proto/log/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

namespace scorecast::proto {
namespace {

/// Time, level and message.
constexpr const char* kPattern = "%Y-%m-%d %H:%M:%S.%e %l %v";
constexpr const char* kErasingPattern = "\x1B[K%Y-%m-%d %H:%M:%S.%e %l %v";

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::off;
}

}  // namespace

void StartLog(const std::string& level) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("scorecast"));
  EraseTerminalLine(false);
  spdlog::set_level(spdlog::level::from_str(level));
}

void EraseTerminalLine(bool erases) { spdlog::set_pattern(erases ? kErasingPattern : kPattern); }

bool ShouldLog(LogLevel level) { return spdlog::should_log(LevelOf(level)); }

void Log(LogLevel level, std::string_view line) { spdlog::log(LevelOf(level), line); }

void LogFormatted(LogLevel level, fmt::string_view format, fmt::format_args arguments) {
  if (ShouldLog(level)) {
    Log(level, fmt::vformat(format, arguments));
  }
}

}  // namespace scorecast::proto
