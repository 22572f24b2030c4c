#include "coordinator/templates/template_reader.h"

#include <algorithm>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/base/trimmed.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;
using proto::Quoted;

constexpr std::string_view kBlanks = " \t\r";

std::string_view Trimmed(std::string_view text) { return proto::Trimmed(text, kBlanks); }

}  // namespace

void TemplateReader::ReadLines(std::string_view text) {
  for (line_ = 1; !text.empty(); ++line_) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    ReadLine(Trimmed(text.substr(0, end)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  line_ = 0;  // Faults of the whole file name no line.
}

void TemplateReader::ReadLine(std::string_view line) {
  if (line.empty() || line.front() == '#') {
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) {
    Fail("a line must be \"key: value\" or a comment that begins with #");
  }
  const std::string key(Trimmed(line.substr(0, colon)));
  if (!MayRepeat(key) && !seen_.insert(key).second) {
    Fail(key + " is given twice");
  }
  ReadValue(key, Trimmed(line.substr(colon + 1)));
}

void TemplateReader::Fail(const std::string& what) const {
  throw proto::StartupError(proto::OneLinePath(origin_) +
                            (line_ > 0 ? ":" + std::to_string(line_) : "") + ": " + what);
}

json TemplateReader::Value(const std::string& key, std::string_view text) const {
  json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) {
    Fail(key + " must be JSON, such as \"text\\n\", but it is " + Quoted(text));
  }
  return value;
}

std::string TemplateReader::String(const std::string& key, std::string_view text) const {
  const json value = Value(key, text);
  if (!value.is_string()) {
    Fail(key + " must be a string in quotation marks, but it is " + Quoted(text));
  }
  return value.get<std::string>();
}

bool TemplateReader::Bool(const std::string& key, std::string_view text) const {
  const json value = Value(key, text);
  if (!value.is_boolean()) {
    Fail(key + " must be true or false, but it is " + Quoted(text));
  }
  return value.get<bool>();
}

std::vector<std::string> TemplateReader::Strings(const std::string& key,
                                                 std::string_view text) const {
  const json value = Value(key, text);
  const bool is_list =
      value.is_array() && !value.empty() && std::ranges::all_of(value, [](const json& one) {
        return one.is_string() && !one.get_ref<const std::string&>().empty();
      });
  if (!is_list) {
    Fail(key + " must be a list of strings, but it is " + Quoted(text));
  }
  return value.get<std::vector<std::string>>();
}

TemplateText TemplateReader::Text(std::string_view text, const TemplatePlaces& places) const {
  return ParseTemplateText(text, places, [this](const std::string& what) { Fail(what); });
}

}  // namespace scorecast::coordinator
