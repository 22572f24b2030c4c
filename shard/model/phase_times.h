#pragma once

#include <array>
#include <chrono>
#include <string_view>

namespace scorecast::shard {

/// What a rank's time in a pass goes to.
enum class Phase : int { kGemm, kAttention, kOther, kCommunication };
inline constexpr int kPhases = 4;

constexpr std::string_view Name(Phase phase) {
  constexpr std::array<std::string_view, kPhases> kNames = {"gemm", "attention", "other",
                                                            "communication"};
  return kNames[static_cast<std::size_t>(phase)];
}

/// Seconds of each phase, as the thread that runs the passes sees them.
class PhaseTimes {
 public:
  /// Time since the last Begin or End belongs to no phase; from here on to `phase`, until End.
  void Begin() { last_ = Clock::now(); }
  void End(Phase phase) {
    const Clock::time_point now = Clock::now();
    seconds_[static_cast<std::size_t>(phase)] += std::chrono::duration<double>(now - last_).count();
    last_ = now;
  }
  const std::array<double, kPhases>& seconds() const { return seconds_; }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_;
  std::array<double, kPhases> seconds_{};
};

}  // namespace scorecast::shard
