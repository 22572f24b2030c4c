#include "coordinator/transports/batch/run_state.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <stdexcept>
#include <system_error>

#include <nlohmann/json.hpp>

#include "coordinator/json/json_text.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;

/// Format 1 had no digest of the output and no checksums of the weights. Format 2 did not say which
/// versions and kernels of libraries computed.
constexpr int kFormat = 3;
constexpr int kHex = 16;

/// Readers of JSON may round numbers beyond 2^53, so digests and seeds are texts.
std::string ToHex(std::uint64_t value) {
  std::array<char, kHex> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value, kHex).ptr;
  return {digits.data(), end};
}

std::uint64_t FromHex(const std::string& text) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, kHex);
  if (error != std::errc() || rest != end) {
    throw std::invalid_argument("it has " + proto::Quoted(text) + " for a hexadecimal number");
  }
  return value;
}

OrderedJson ToJson(const RunPoint& point) {
  OrderedJson object;
  object["lines"] = point.lines;
  object["input_bytes"] = point.input_bytes;
  object["input_digest"] = ToHex(point.input_digest);
  object["succeeded"] = point.succeeded;
  object["refused"] = point.refused;
  object["error_records"] = point.error_records;
  return object;
}

OrderedJson ToJson(const RunSettings& settings) {
  OrderedJson object = OrderedJson::object();
  for (const auto& [name, value] : settings) {
    object[name] = value;
  }
  return object;
}

const json& Field(const json& object, const char* name) {
  const auto field = object.find(name);
  if (field == object.end()) {
    throw std::invalid_argument(std::string("it has no ") + name);
  }
  return *field;
}

template <typename Value>
Value ValueOf(const json& object, const char* name) {
  try {
    return Field(object, name).get<Value>();
  } catch (const json::exception&) {
    throw std::invalid_argument(std::string("its ") + name + " has another type");
  }
}

std::uint64_t Hex(const json& object, const char* name) {
  return FromHex(ValueOf<std::string>(object, name));
}

std::int64_t Count(const json& object, const char* name) {
  const auto count = ValueOf<std::int64_t>(object, name);
  if (count < 0) {
    throw std::invalid_argument(std::string("its ") + name + " is negative");
  }
  return count;
}

RunSettings Settings(const json& object, const char* name) {
  RunSettings settings;
  for (const auto& [key, value] : ValueOf<std::map<std::string, std::string>>(object, name)) {
    settings.emplace_back(key, value);
  }
  return settings;
}

RunPoint PointFrom(const json& object) {
  RunPoint point;
  point.lines = Count(object, "lines");
  point.input_bytes = Count(object, "input_bytes");
  point.input_digest = Hex(object, "input_digest");
  point.succeeded = Count(object, "succeeded");
  point.refused = Count(object, "refused");
  point.error_records = Count(object, "error_records");
  return point;
}

/// The value of a name. Null if there is none.
const std::string* Find(const RunSettings& settings, const std::string& name) {
  const auto found = std::ranges::find(settings, name, &RunSettings::value_type::first);
  return found == settings.end() ? nullptr : &found->second;
}

std::string ValueText(const std::string* value) {
  return value == nullptr || value->empty() ? "absent" : proto::OneLine(*value);
}

}  // namespace

std::string RunState::ToText() const {
  OrderedJson object;
  object["format"] = kFormat;
  object["build"] = build;
  object["seed"] = ToHex(seed);
  object["created"] = created;
  object["model"] = model_name;
  object["settings"] = ToJson(settings);
  object["weights"] = ToJson(weights);
  object["output_bytes"] = output_bytes;
  object["output_digest"] = ToHex(output_digest);
  object["written"] = ToJson(written);
  object["next"] = ToJson(next);
  return object.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

proto::Expected<RunState, std::string> RunState::FromText(std::string_view text) {
  try {
    const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (!object.is_object()) {
      throw std::invalid_argument(text.empty()            ? "it is empty"
                                  : object.is_discarded() ? "it is not JSON"
                                                          : "it is not an object");
    }
    if (const int format = ValueOf<int>(object, "format"); format != kFormat) {
      return proto::Unexpected("has format " + std::to_string(format) + " and not " +
                               std::to_string(kFormat) +
                               ": go on with the build of scorecast that began the run (" +
                               proto::OneLine(ValueOf<std::string>(object, "build")) + ")");
    }
    RunState state;
    state.build = ValueOf<std::string>(object, "build");
    state.seed = Hex(object, "seed");
    state.created = ValueOf<std::int64_t>(object, "created");
    state.model_name = ValueOf<std::string>(object, "model");
    state.settings = Settings(object, "settings");
    state.weights = Settings(object, "weights");
    state.output_bytes = Count(object, "output_bytes");
    state.output_digest = Hex(object, "output_digest");
    state.written = PointFrom(Field(object, "written"));
    state.next = PointFrom(Field(object, "next"));
    if (state.next.lines < state.written.lines ||
        state.next.input_bytes < state.written.input_bytes ||
        state.next.records() < state.written.records()) {
      throw std::invalid_argument("its points are out of order");
    }
    return state;
  } catch (const std::invalid_argument& fault) {
    return proto::Unexpected("is broken (" + proto::OneLine(fault.what()) +
                             "): put the run's own file back");
  }
}

std::string Differences(const RunSettings& was, const RunSettings& is) {
  std::string differences;
  const auto add = [&](const std::string& name, const std::string* before, const std::string* now) {
    if (ValueText(before) != ValueText(now)) {
      differences += differences.empty() ? "" : ", ";
      differences += name + " was " + ValueText(before) + " and is " + ValueText(now);
    }
  };
  for (const auto& [name, value] : is) {
    add(name, Find(was, name), &value);
  }
  for (const auto& [name, value] : was) {
    if (Find(is, name) == nullptr) {
      add(name, &value, nullptr);
    }
  }
  return differences;
}

}  // namespace scorecast::coordinator
