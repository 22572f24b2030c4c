#pragma once

namespace scorecast::launcher {

/// Time, level and message of a line of the log, for spdlog::set_pattern.
inline constexpr const char* kLogPattern = "%Y-%m-%d %H:%M:%S.%e %l %v";
/// The same for a terminal whose current line has other text. That text is erased.
inline constexpr const char* kErasingLogPattern = "\x1B[K%Y-%m-%d %H:%M:%S.%e %l %v";

}  // namespace scorecast::launcher
