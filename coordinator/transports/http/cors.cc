#include "coordinator/transports/http/cors.h"

#include <algorithm>

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kMaxRequestedFields = 1024;

bool IsInListOfNames(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
         c == '_' || c == ',' || c == ' ';
}

}  // namespace

bool AllowsOrigin(const std::vector<std::string>& allowed, std::string_view origin) {
  return !origin.empty() && std::ranges::any_of(allowed, [origin](const std::string& one) {
    return one == "*" || one == origin;
  });
}

ReplyFields CorsFields(const std::vector<std::string>& allowed, std::string_view origin) {
  if (allowed.empty()) {
    return {};
  }
  // In every reply, so that no cache gives one origin's reply to another.
  ReplyFields fields = {{"Vary", "Origin"}};
  if (AllowsOrigin(allowed, origin)) {
    fields.push_back({"Access-Control-Allow-Origin", std::string(origin)});
    fields.push_back({"Access-Control-Expose-Headers", "X-Request-Id, Retry-After"});
  }
  return fields;
}

ReplyFields PreflightFields(const std::string& allowed_methods, std::string_view requested_fields) {
  ReplyFields fields = {{"Access-Control-Allow-Methods", allowed_methods}};
  if (!requested_fields.empty() && requested_fields.size() <= kMaxRequestedFields &&
      std::ranges::all_of(requested_fields, IsInListOfNames)) {
    fields.push_back({"Access-Control-Allow-Headers", std::string(requested_fields)});
  }
  fields.push_back({"Access-Control-Max-Age", "600"});
  return fields;
}

}  // namespace scorecast::coordinator
