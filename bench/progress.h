#pragma once

#include <cstdio>
#include <string>

namespace scorecast::bench {

/// Prints a line on standard error about the current measurement.
inline void Progress(const std::string& what) { std::fprintf(stderr, "bench: %s\n", what.c_str()); }

}  // namespace scorecast::bench
