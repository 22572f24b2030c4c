#pragma once

#include <ostream>

#include "shard/linear/precision.h"

namespace scorecast::shard {

/// As GoogleTest prints it.
inline void PrintTo(Precision precision, std::ostream* out) { *out << Name(precision); }

}  // namespace scorecast::shard
