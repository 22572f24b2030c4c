#include "coordinator/request/request_log.h"

#include <spdlog/spdlog.h>

namespace scorecast::coordinator {

void LogRefusal(std::string_view endpoint, const proto::Error& error) {
  const auto level = error.code == 500 ? spdlog::level::err : spdlog::level::debug;
  spdlog::log(level, "{}: {} {}: {}", endpoint, error.code, error.reason, error.message);
}

void LogResponse(std::string_view endpoint, std::string_view summary, const Usage& usage,
                 const Timings& timings) {
  spdlog::debug(
      "{}: {}, {} tokens, {} cached, {} generated, tokenize {:.2f} ms, queue {:.2f} ms, forward "
      "{:.2f} "
      "ms",
      endpoint, summary, usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens,
      timings.tokenize_ms, timings.queue_ms, timings.forward_ms);
}

}  // namespace scorecast::coordinator
