#pragma once

namespace scorecast {

/// Rounds of a random test: all of them, or a tenth under sanitizers, which are many times slower
/// and look for faults of memory and threads.
template <typename Integer>
constexpr Integer Rounds(Integer all) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return all / 10;
#else
  return all;
#endif
}

}  // namespace scorecast
