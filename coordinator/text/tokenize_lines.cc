#include "coordinator/text/tokenize_lines.h"

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>

#include <nlohmann/json.hpp>

#include "coordinator/text/unicode/utf8.h"
#include "proto/base/error.h"
#include "proto/base/expected.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;
using proto::Error;
using proto::Expected;
using proto::Unexpected;

Unexpected<Error> Fault(std::string reason, std::string message) {
  return Unexpected(Error{
      .code = 400, .reason = std::move(reason), .message = std::move(message), .param = "text"});
}

Expected<std::string> ReadText(const std::string& line) {
  if (!IsValidUtf8(line)) {
    return Fault("invalid_utf8", "The line is not valid UTF-8.");
  }
  json request = json::parse(line, nullptr, /*allow_exceptions=*/false);
  // The parser would take a zero byte for the end of the text, so there must be none.
  if (!request.is_object() || line.find('\0') != std::string::npos) {
    return Fault("invalid_json", "The line is not a JSON object.");
  }
  const auto text = request.find("text");
  if (text == request.end()) {
    return Fault("missing_field", "The line has no \"text\".");
  }
  if (!text->is_string()) {
    return Fault("invalid_type", "\"text\" is not a string.");
  }
  return std::move(text->get_ref<std::string&>());
}

}  // namespace

int TokenizeLines(const Tokenizer& tokenizer, const EncodeOptions& options, bool add_special,
                  std::istream& in, std::ostream& out) {
  bool all_good = true;
  std::int64_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    const Expected<std::string> text = ReadText(line);
    json result;
    if (text) {
      result["ids"] = add_special ? tokenizer.EncodeWithAdded(*text, options)
                                  : tokenizer.Encode(*text, options);
    } else {
      all_good = false;
      result["error"] = {
          {"code", text.error().code}, {"message", text.error().message}, {"line", number}};
    }
    out << result.dump() << '\n';
    // No further input is buffered, so the sender may be waiting for this output line.
    if (in.rdbuf()->in_avail() <= 0) {
      out.flush();
    }
    if (!out) {
      return 1;
    }
  }
  out.flush();
  if (!out) {
    return 1;
  }
  return all_good ? 0 : 3;
}

}  // namespace scorecast::coordinator
