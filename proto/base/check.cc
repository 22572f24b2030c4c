#include "proto/base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace scorecast::proto {
namespace {

void PrintAndAbort(const char* message) {
  std::fprintf(stderr, "scorecast: %s\n", message);
  std::abort();
}

std::atomic<CheckFailureHandler> failure_handler = &PrintAndAbort;

}  // namespace

void SetCheckFailureHandler(CheckFailureHandler handler) { failure_handler = handler; }

void CheckFailed(const char* condition, const char* file, int line) {
  const std::string message =
      std::string("broken invariant at ") + file + ":" + std::to_string(line) + ": " + condition;
  failure_handler.load()(message.c_str());
  std::abort();
}

}  // namespace scorecast::proto
