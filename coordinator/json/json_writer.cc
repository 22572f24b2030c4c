#include "coordinator/json/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>

#include <nlohmann/json.hpp>

#include "coordinator/text/unicode/utf8.h"

namespace scorecast::coordinator {
namespace {

constexpr std::size_t kPieceBytes = std::size_t{64} << 10;

template <typename Integer>
void AppendInteger(Integer integer, std::string& text) {
  std::array<char, 24> digits;
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), integer).ptr;
  text.append(digits.data(), end);
}

/// Appends what stands for a character that a JSON text cannot have.
void AppendEscaped(char c, std::string& text) {
  switch (c) {
    case '"':
      text += "\\\"";
      return;
    case '\\':
      text += "\\\\";
      return;
    case '\b':
      text += "\\b";
      return;
    case '\f':
      text += "\\f";
      return;
    case '\n':
      text += "\\n";
      return;
    case '\r':
      text += "\\r";
      return;
    case '\t':
      text += "\\t";
      return;
    default:
      constexpr std::string_view kDigits = "0123456789abcdef";
      text += "\\u00";
      text += kDigits[static_cast<unsigned char>(c) >> 4U];
      text += kDigits[static_cast<unsigned char>(c) & 15U];
  }
}

}  // namespace

void JsonWriter::Key(std::string_view key) {
  Text(key);
  text_ += ':';
  has_sibling_ = false;
}

void JsonWriter::Value(const OrderedJson& value) { Json(ToJsonText(value)); }

void JsonWriter::Text(std::string_view text) {
  if (!IsValidUtf8(text)) {
    return Value(OrderedJson(text));
  }
  Separate();
  text_ += '"';
  std::size_t written = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\') {
      text_ += text.substr(written, i - written);
      AppendEscaped(c, text_);
      written = i + 1;
    }
  }
  text_ += text.substr(written);
  text_ += '"';
  FlushIfLong();
}

template <typename Floating>
void JsonWriter::WriteNumber(Floating number) {
  if (!std::isfinite(number)) {
    return Json("null");
  }
  Separate();
  std::array<char, 64> digits;
  // The function that ToJsonText uses: not all of its digits are those of std::to_chars.
  const char* const end =
      nlohmann::detail::to_chars(digits.data(), digits.data() + digits.size(), number);
  text_.append(digits.data(), static_cast<std::size_t>(end - digits.data()));
  FlushIfLong();
}

void JsonWriter::Number(double number) { WriteNumber(number); }

void JsonWriter::Float(float number) { WriteNumber(number); }

void JsonWriter::Integer(std::int64_t integer) {
  Separate();
  AppendInteger(integer, text_);
  FlushIfLong();
}

void JsonWriter::Unsigned(std::uint64_t integer) {
  Separate();
  AppendInteger(integer, text_);
  FlushIfLong();
}

void JsonWriter::JsonKey(std::string_view key) {
  Separate();
  text_ += key;
  has_sibling_ = false;
}

void JsonWriter::Json(std::string_view json) {
  Separate();
  text_ += json;
  FlushIfLong();
}

void JsonWriter::Finish() {
  if (sink_) {
    sink_(pending_);
    pending_.clear();
  }
}

void JsonWriter::Begin(char bracket) {
  Separate();
  text_ += bracket;
  has_sibling_ = false;
}

void JsonWriter::End(char bracket) {
  text_ += bracket;
  FlushIfLong();
}

void JsonWriter::Separate() {
  if (has_sibling_) {
    text_ += ',';
  }
  has_sibling_ = true;
}

void JsonWriter::FlushIfLong() {
  has_sibling_ = true;
  if (sink_ && text_.size() >= kPieceBytes) {
    Finish();
  }
}

}  // namespace scorecast::coordinator
