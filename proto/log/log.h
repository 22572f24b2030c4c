#pragma once

#include <string>
#include <string_view>

#include <spdlog/fmt/fmt.h>

namespace scorecast::proto {

// The log of this process: lines on standard error. spdlog writes them, behind this header, because
// a source that formats lines by spdlog's own functions takes two seconds longer to compile. Any
// thread may log.

enum class LogLevel { kDebug, kInfo, kWarning, kError };

/// Begins the log: its form, and the lowest level that is written, as --log-level spells it.
void StartLog(const std::string& level);

/// Whether lines erase what the terminal has in its current line.
void EraseTerminalLine(bool erases);

/// Whether lines of this level are written.
bool ShouldLog(LogLevel level);

/// Logs a line as it is.
void Log(LogLevel level, std::string_view line);

void LogFormatted(LogLevel level, fmt::string_view format, fmt::format_args arguments);

// Log a line in the notation of fmt: LogInfo("{} of {} bytes", read, size).

template <typename... Arguments>
void LogDebug(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  LogFormatted(LogLevel::kDebug, format, fmt::make_format_args(arguments...));
}
template <typename... Arguments>
void LogInfo(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  LogFormatted(LogLevel::kInfo, format, fmt::make_format_args(arguments...));
}
template <typename... Arguments>
void LogWarning(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  LogFormatted(LogLevel::kWarning, format, fmt::make_format_args(arguments...));
}
template <typename... Arguments>
void LogError(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  LogFormatted(LogLevel::kError, format, fmt::make_format_args(arguments...));
}

}  // namespace scorecast::proto
