#pragma once

namespace scorecast::proto {

/// Called with the message of a failed check; must not return. The default prints the message and
/// aborts. Under MPI, the environment installs one that adds the rank and ends the whole job.
using CheckFailureHandler = void (*)(const char* message);

void SetCheckFailureHandler(CheckFailureHandler handler);

[[noreturn]] void CheckFailed(const char* condition, const char* file, int line);

/// Aborts the job if an invariant of ours is broken. Never used on anything that a user can send.
/// The location is the caller's. It comes from compiler built-ins, because clang 14, which builds
/// the fuzz targets, lacks std::source_location.
inline void Check(bool condition, const char* what, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!condition) [[unlikely]] {
    CheckFailed(what, file, line);
  }
}

}  // namespace scorecast::proto
