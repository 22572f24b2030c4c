#include "coordinator/chat/jinja_runtime.h"

#include "coordinator/chat/jinja_fault.h"

namespace scorecast::coordinator {
namespace {

constexpr std::int64_t kStepsBetweenLooks = 4096;

JinjaFault TooMuch(const std::string& what) {
  return JinjaFault("the template needs too " + what + " for these messages", {},
                    JinjaFault::Kind::kLimit);
}

}  // namespace

void JinjaRuntime::Step(std::int64_t steps) {
  if (steps > kMaxSteps - steps_) {
    throw TooMuch("many steps");
  }
  steps_ += steps;
  if (steps_ - steps_at_look_ >= kStepsBetweenLooks) {
    steps_at_look_ = steps_;
    if (ShouldStop(interruption_)) {
      throw JinjaFault("stopped", {}, JinjaFault::Kind::kStopped);
    }
  }
}

void JinjaRuntime::UseBytes(std::size_t bytes) {
  if (bytes > static_cast<std::size_t>(kMaxBytes - bytes_)) {
    throw TooMuch("much text");
  }
  bytes_ += static_cast<std::int64_t>(bytes);
  // Texts are copied at about this rate in the time of a step.
  Step(static_cast<std::int64_t>(bytes) / 256);
}

void JinjaRuntime::Enter() {
  if (depth_ >= kMaxDepth) {
    throw JinjaFault("the template is nested too deeply", {}, JinjaFault::Kind::kLimit);
  }
  ++depth_;
}

}  // namespace scorecast::coordinator
