#pragma once

#include <cstdint>

namespace scorecast::coordinator {

// Seeds for requests without one. They are below 2^53, so that every reader of JSON keeps their
// value.

/// A random seed.
std::uint64_t DrawSeed();

/// The seed of a line of a run. It follows from the run's seed and the line's number, and is the
/// same on every machine.
std::uint64_t DerivedSeed(std::uint64_t run_seed, std::uint64_t line);

/// 64 random bits.
std::uint64_t RandomBits();

/// 64 bits that follow from a seed and a number.
std::uint64_t HashedSeed(std::uint64_t seed, std::uint64_t number);

}  // namespace scorecast::coordinator
