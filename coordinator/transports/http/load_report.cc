#include "coordinator/transports/http/load_report.h"

#include <array>
#include <charconv>
#include <cstddef>

#include "proto/base/letter_case.h"

namespace scorecast::coordinator {
namespace {

struct LoadValue {
  std::string_view name;
  double value;
};

/// What ORCA itself names. Envoy's weights follow from both.
std::array<LoadValue, 2> ValuesOfOrca(const ServiceLoad& load) {
  return {{{"application_utilization", load.busy}, {"rps_fractional", load.requests_per_second}}};
}

/// The metrics of the same names, without the beginning `scorecast_`.
std::array<LoadValue, 4> NamedValues(const ServiceLoad& load) {
  return {{{"queue_requests", static_cast<double>(load.waiting_requests)},
           {"queue_predicted_seconds", load.predicted_seconds},
           {"running_requests", static_cast<double>(load.running_requests)},
           {"kv_usage", load.kv_usage}}};
}

void AppendNumber(double value, std::string& text) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value,
                                 std::chars_format::general, /*precision=*/6);
  text.append(digits.data(), end.ptr);
}

std::string TextReport(const ServiceLoad& load) {
  std::string text = "TEXT ";
  const auto append = [&](std::string_view prefix, const LoadValue& value) {
    text.append(text.back() == ' ' ? "" : ",").append(prefix).append(value.name).append("=");
    AppendNumber(value.value, text);
  };
  for (const LoadValue& value : ValuesOfOrca(load)) {
    append("", value);
  }
  for (const LoadValue& value : NamedValues(load)) {
    append("named_metrics.", value);
  }
  return text;
}

std::string JsonReport(const ServiceLoad& load) {
  std::string text = "JSON {";
  const auto append = [&](const LoadValue& value) {
    text.append(text.back() == '{' ? "\"" : ",\"").append(value.name).append("\":");
    AppendNumber(value.value, text);
  };
  for (const LoadValue& value : ValuesOfOrca(load)) {
    append(value);
  }
  text += ",\"named_metrics\":{";
  for (const LoadValue& value : NamedValues(load)) {
    append(value);
  }
  return text + "}}";
}

}  // namespace

std::function<std::string()> LoadReport(std::string_view format,
                                        const std::function<ServiceLoad()>& load) {
  if (!load) {
    return {};
  }
  if (proto::EqualsWithoutCase(format, "TEXT")) {
    return [load] { return TextReport(load()); };
  }
  if (proto::EqualsWithoutCase(format, "JSON")) {
    return [load] { return JsonReport(load()); };
  }
  return {};
}

}  // namespace scorecast::coordinator
