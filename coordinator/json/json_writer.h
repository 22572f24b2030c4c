#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/json/json_text.h"

namespace scorecast::coordinator {

/// Writes JSON text a part at a time, so that a long response is never in memory twice. The text is
/// that of ToJsonText. Whoever uses it ends what it begins, and gives each member of an object a
/// key.
class JsonWriter {
 public:
  /// Receives the text, in pieces of at least 64 KiB but for the last one.
  using Sink = std::function<void(std::string_view)>;

  explicit JsonWriter(Sink sink) : sink_(std::move(sink)), text_(pending_) {}
  /// Writes to the end of `text`, which outlives the writer.
  explicit JsonWriter(std::string& text) : text_(text) {}

  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void BeginObject() { Begin('{'); }
  void EndObject() { End('}'); }
  void BeginList() { Begin('['); }
  void EndList() { End(']'); }
  void Key(std::string_view key);
  void Value(const OrderedJson& value);
  /// A member of an object.
  void Member(std::string_view key, const OrderedJson& value) {
    Key(key);
    Value(value);
  }

  // The same as Value, without a copy. A number that is not finite is null, and bytes that are not
  // UTF-8 are replaced.
  void Text(std::string_view text);
  void Number(double number);
  /// As few digits as tell the number from other floats.
  void Float(float number);
  void Integer(std::int64_t integer);
  void Unsigned(std::uint64_t integer);

  // The same as Key and Value, of what is JSON already: `key` is a quoted text and a colon.
  void JsonKey(std::string_view key);
  void Json(std::string_view json);

  /// Passes on what is left. Called at the end.
  void Finish();

 private:
  template <typename Floating>
  void WriteNumber(Floating number);
  void Begin(char bracket);
  void End(char bracket);
  /// Called before a value or a key.
  void Separate();
  /// Called after a value or a bracket.
  void FlushIfLong();

  const Sink sink_;
  std::string pending_;
  std::string& text_;         ///< What was written; `pending_` if there is a sink.
  bool has_sibling_ = false;  ///< Whether the next value follows another one.
};

}  // namespace scorecast::coordinator
