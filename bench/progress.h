#pragma once

#include <cstdio>
#include <string>

namespace scorecast::bench {

/// A line on standard error on what is being measured.
inline void Progress(const std::string& what) { std::fprintf(stderr, "bench: %s\n", what.c_str()); }

}  // namespace scorecast::bench
