#include "coordinator/request/request_log.h"

#include <algorithm>
#include <cstddef>
#include <string>

#include "coordinator/text/unicode/utf8.h"
#include "proto/base/count.h"
#include "proto/base/one_line.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

/// "score", "score [ID]" or "score [ID] of NAME"
std::string Name(std::string_view endpoint, std::string_view request_id, std::string_view holder) {
  std::string name(endpoint);
  if (!request_id.empty()) {
    name += " [" + std::string(request_id) + "]";
  }
  return holder.empty() ? name : name + " of " + std::string(holder);
}

/// A text that may have parts of the request, as one line of UTF-8.
std::string Line(const std::string& text) {
  constexpr std::size_t kMaxLength = 1000;
  std::string line = proto::OneLine(text, kMaxLength);
  if (!IsValidUtf8(line)) {
    std::ranges::replace_if(
        line, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  }
  return line;
}

}  // namespace

void LogRefusal(std::string_view endpoint, std::string_view request_id, std::string_view holder,
                const proto::Error& error) {
  const auto level = error.code == 500 ? proto::LogLevel::kError : proto::LogLevel::kDebug;
  if (proto::ShouldLog(level)) {
    proto::Log(level, fmt::format("{}: {} {}: {}", Name(endpoint, request_id, holder), error.code,
                                  error.reason, Line(error.message)));
  }
}

void LogResponse(std::string_view endpoint, std::string_view request_id, std::string_view holder,
                 std::string_view summary, const Usage& usage, const Timings& timings) {
  proto::LogDebug(
      "{}: {}, {}, {} cached, {} generated, tokenize {:.2f} ms, queue {:.2f} ms, forward "
      "{:.2f} ms",
      Name(endpoint, request_id, holder), summary, proto::Count(usage.prompt_tokens, "token"),
      usage.cached_tokens, usage.completion_tokens, timings.tokenize_ms, timings.queue_ms,
      timings.forward_ms);
}

}  // namespace scorecast::coordinator
