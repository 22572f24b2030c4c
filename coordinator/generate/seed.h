#pragma once

#include <cstdint>

namespace scorecast::coordinator {

// Seeds that nobody gave. They are below 2^53, so that every reader of JSON keeps their value.

/// A random seed.
std::uint64_t DrawSeed();

/// The seed that follows from the seed of a run and a line's number. The same on every machine.
std::uint64_t DerivedSeed(std::uint64_t run_seed, std::uint64_t line);

/// 64 random bits.
std::uint64_t RandomBits();

/// 64 bits that follow from a seed and a number.
std::uint64_t HashedSeed(std::uint64_t seed, std::uint64_t number);

}  // namespace scorecast::coordinator
