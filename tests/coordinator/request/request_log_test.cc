#include "coordinator/request/request_log.h"

#include <string>

#include <gtest/gtest.h>

#include "tests/coordinator/captured_log.h"

namespace scorecast::coordinator {
namespace request_log_test {

std::string LoggedRefusal(const std::string& message) {
  const CapturedLog log;
  LogRefusal("score", "id", "alice", {400, "reason", message, ""});
  return log.text();
}

TEST(RequestLog, ARefusalIsOneLineOfUtf8) {
  EXPECT_EQ(LoggedRefusal("Tokyo: 東京."), "score [id] of alice: 400 reason: Tokyo: 東京.\n");
  EXPECT_EQ(LoggedRefusal("a\n2026 error b\x1b[31m"),
            "score [id] of alice: 400 reason: a\\x0a2026 error b\\x1b[31m\n");
  EXPECT_EQ(LoggedRefusal("\"/\xff\xc3\" is unknown."),
            "score [id] of alice: 400 reason: \"/??\" is unknown.\n");
  EXPECT_LT(LoggedRefusal(std::string(1'000'000, 'x')).size(), 1100U);
}

}  // namespace request_log_test
}  // namespace scorecast::coordinator
