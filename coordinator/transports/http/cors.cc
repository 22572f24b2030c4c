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

std::string CorsFields(const std::vector<std::string>& allowed, std::string_view origin) {
  if (allowed.empty()) {
    return {};
  }
  // In every reply, so that no cache gives one origin's reply to another.
  const std::string vary = "Vary: Origin\r\n";
  if (!AllowsOrigin(allowed, origin)) {
    return vary;
  }
  return "Access-Control-Allow-Origin: " + std::string(origin) + "\r\n" + vary +
         "Access-Control-Expose-Headers: X-Request-Id, Retry-After\r\n";
}

std::string PreflightFields(const std::string& allowed_methods, std::string_view requested_fields) {
  std::string fields = "Access-Control-Allow-Methods: " + allowed_methods + "\r\n";
  if (!requested_fields.empty() && requested_fields.size() <= kMaxRequestedFields &&
      std::ranges::all_of(requested_fields, IsInListOfNames)) {
    fields += "Access-Control-Allow-Headers: " + std::string(requested_fields) + "\r\n";
  }
  return fields + "Access-Control-Max-Age: 600\r\n";
}

}  // namespace scorecast::coordinator
