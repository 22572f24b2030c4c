#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "coordinator/json/json_text.h"

namespace scorecast::coordinator {

/// Writes JSON text a part at a time, so that a long response is never in memory as a whole. The
/// text is that of ToJsonText. Whoever uses it ends what it begins, and gives each member of an
/// object a key.
class JsonWriter {
 public:
  /// Receives the text, in pieces of at least 64 KiB but for the last one.
  using Sink = std::function<void(std::string_view)>;

  explicit JsonWriter(Sink sink) : sink_(std::move(sink)) {}

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

  /// Passes on what is left. Called at the end.
  void Finish();

 private:
  void Begin(char bracket);
  void End(char bracket);
  void Separate();
  void Add(std::string_view text);

  const Sink sink_;
  std::string pending_;
  bool has_sibling_ = false;  ///< Whether the next value follows another one.
};

}  // namespace scorecast::coordinator
