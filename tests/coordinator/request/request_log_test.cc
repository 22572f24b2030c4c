#include "coordinator/request/request_log.h"

#include <memory>
#include <sstream>
#include <string>

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

namespace scorecast::coordinator {
namespace request_log_test {

/// What is logged while this exists, without times.
class CapturedLog {
 public:
  CapturedLog() : before_(spdlog::default_logger()) {
    const auto sink = std::make_shared<spdlog::sinks::ostream_sink_st>(lines_);
    const auto logger = std::make_shared<spdlog::logger>("captured", sink);
    logger->set_level(spdlog::level::debug);
    logger->set_pattern("%v");
    spdlog::set_default_logger(logger);
  }
  ~CapturedLog() { spdlog::set_default_logger(before_); }
  CapturedLog(const CapturedLog&) = delete;
  CapturedLog& operator=(const CapturedLog&) = delete;

  std::string text() const { return lines_.str(); }

 private:
  std::shared_ptr<spdlog::logger> before_;
  std::ostringstream lines_;
};

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
