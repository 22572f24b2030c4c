#pragma once

#include <cstdint>
#include <string_view>

namespace scorecast::coordinator {

// Seeds that nobody gave. They are below 2^53, so that every reader of JSON keeps their value.

/// A random seed.
std::uint64_t DrawSeed();

/// The seed that follows from the seed of a run and a name. The same on every machine.
std::uint64_t DerivedSeed(std::uint64_t run_seed, std::string_view name);

}  // namespace scorecast::coordinator
