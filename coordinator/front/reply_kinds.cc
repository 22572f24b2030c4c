#include "coordinator/front/reply_kinds.h"

#include "proto/base/one_line.h"

namespace scorecast::coordinator {

bool IsSuccess(const v1::Response& response) {
  return !response.has_error() && (!response.has_http() || response.http().status() < 400);
}

bool IsRefusal(const v1::Response& response) {
  const auto is_one = [](auto code) { return code == 429 || code == 503; };
  return response.has_http() ? is_one(response.http().status())
                             : response.has_error() && is_one(response.error().code());
}

std::string RefusalText(const v1::Response& refusal) {
  return refusal.has_http() ? std::to_string(refusal.http().status())
                            : std::to_string(refusal.error().code()) + " " +
                                  proto::OneLine(refusal.error().reason());
}

bool IsDraining(const v1::Response& response, const Replica& replica) {
  constexpr int kUnavailable = 503;
  return response.has_http()
             ? response.http().status() == kUnavailable && replica.connection->status().draining()
             : response.has_error() && response.error().code() == kUnavailable &&
                   response.error().reason() == "draining";
}

}  // namespace scorecast::coordinator
