#include "coordinator/generate/seed.h"

#include <random>

namespace scorecast::coordinator {
namespace {

constexpr std::uint64_t kMask = (std::uint64_t{1} << 53) - 1;

/// The finalizer of SplitMix64 (Steele et al., OOPSLA 2014): each bit of the input affects all bits
/// of the result.
std::uint64_t Mixed(std::uint64_t bits) {
  bits += 0x9E3779B97F4A7C15;
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB;
  return bits ^ (bits >> 31);
}

}  // namespace

std::uint64_t RandomBits() {
  // Kept, because it asks the CPU what that can do when it is made, which takes tens of
  // microseconds in a virtual machine.
  thread_local std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

std::uint64_t DrawSeed() { return RandomBits() & kMask; }

std::uint64_t HashedSeed(std::uint64_t seed, std::uint64_t number) {
  return Mixed(Mixed(seed) ^ number);
}

std::uint64_t DerivedSeed(std::uint64_t run_seed, std::uint64_t line) {
  return HashedSeed(run_seed, line) & kMask;
}

}  // namespace scorecast::coordinator
