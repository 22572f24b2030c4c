#pragma once

#include <array>
#include <chrono>
#include <string_view>

namespace scorecast::shard {

/// The kinds of work in a pass, by which a rank's time is counted.
enum class Phase : int { kGemm, kAttention, kOther, kCommunication };
inline constexpr int kPhases = 4;

constexpr std::string_view Name(Phase phase) {
  constexpr std::array<std::string_view, kPhases> kNames = {"gemm", "attention", "other",
                                                            "communication"};
  return kNames[static_cast<std::size_t>(phase)];
}

/// Seconds of each phase, measured by the thread that runs the passes.
class PhaseTimes {
 public:
  /// Starts the clock. The time before this call belongs to no phase.
  void Begin() { last_ = Clock::now(); }
  /// Counts the time since the last Begin or End to `phase`.
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
