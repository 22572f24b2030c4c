#include "coordinator/transports/batch/run_state.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <stdexcept>
#include <system_error>

#include <nlohmann/json.hpp>

#include "coordinator/json/json_text.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;

constexpr int kFormat = 1;
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
    throw std::invalid_argument("no hexadecimal number: " + proto::Quoted(text));
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

std::int64_t Count(const json& object, const char* name) {
  const auto count = object.at(name).get<std::int64_t>();
  if (count < 0) {
    throw std::invalid_argument(std::string(name) + " is negative");
  }
  return count;
}

RunPoint PointFrom(const json& object) {
  RunPoint point;
  point.lines = Count(object, "lines");
  point.input_bytes = Count(object, "input_bytes");
  point.input_digest = FromHex(object.at("input_digest").get<std::string>());
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
  OrderedJson& values = object["settings"] = OrderedJson::object();
  for (const auto& [name, value] : settings) {
    values[name] = value;
  }
  object["output_bytes"] = output_bytes;
  object["written"] = ToJson(written);
  object["next"] = ToJson(next);
  return object.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

proto::Expected<RunState, std::string> RunState::FromText(std::string_view text) {
  try {
    const json object = json::parse(text);
    if (const int format = object.at("format").get<int>(); format != kFormat) {
      return proto::Unexpected("its format is " + std::to_string(format) + ", not " +
                               std::to_string(kFormat));
    }
    RunState state;
    state.build = object.at("build").get<std::string>();
    state.seed = FromHex(object.at("seed").get<std::string>());
    state.created = object.at("created").get<std::int64_t>();
    for (const auto& [name, value] : object.at("settings").items()) {
      state.settings.emplace_back(name, value.get<std::string>());
    }
    state.output_bytes = Count(object, "output_bytes");
    state.written = PointFrom(object.at("written"));
    state.next = PointFrom(object.at("next"));
    if (state.next.lines < state.written.lines ||
        state.next.input_bytes < state.written.input_bytes ||
        state.next.records() < state.written.records()) {
      return proto::Unexpected(std::string("its points are out of order"));
    }
    return state;
  } catch (const std::exception& fault) {
    return proto::Unexpected(proto::OneLine(fault.what()));
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
