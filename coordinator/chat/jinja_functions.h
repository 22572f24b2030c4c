#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/chat/jinja_runtime.h"
#include "coordinator/chat/jinja_value.h"

namespace scorecast::coordinator {

/// The arguments of a call.
struct JinjaCall {
  /// In the order of JinjaFunction::parameters; shorter if the last ones are not given.
  std::vector<std::optional<JinjaValue>> arguments;
  /// Those without a parameter of the name, if the function takes any.
  std::vector<std::pair<std::string, JinjaValue>> others;
  JinjaRuntime& runtime;

  bool Has(std::size_t i) const { return i < arguments.size() && arguments[i].has_value(); }
  /// Undefined if it is not given.
  const JinjaValue& At(std::size_t i) const;

  // Arguments of a type. They throw JinjaFault if the argument has another one.

  const MarkedText& Text(std::size_t i) const;
  std::int64_t Integer(std::size_t i, std::int64_t if_absent) const;
};

/// A filter, a test, a method or a global function of Jinja's, or of Python's values.
struct JinjaFunction {
  std::string_view name;
  /// The first parameter of a filter, a test or a method is the value to which it is applied.
  std::vector<std::string_view> parameters;
  std::size_t required = 0;  ///< How many of them must be given.
  JinjaValue (*apply)(const JinjaCall& call) = nullptr;
  bool takes_others = false;  ///< Arguments of any other name.
};

// Null if there is none of this name.

const JinjaFunction* FindJinjaFilter(std::string_view name);
const JinjaFunction* FindJinjaTest(std::string_view name);
const JinjaFunction* FindJinjaMethod(std::string_view name);
const JinjaFunction* FindJinjaGlobal(std::string_view name);

/// The same for `name` in a list of functions.
const JinjaFunction* FindIn(std::span<const JinjaFunction> functions, std::string_view name);

/// The items that a loop goes through: those of a list, the keys of an object, the characters of a
/// text. Throws JinjaFault for other values.
JinjaValue::List ItemsOf(const JinjaValue& value, JinjaRuntime& runtime);

/// Equal, whose time counts.
bool IsEqual(const JinjaValue& a, const JinjaValue& b, JinjaRuntime& runtime);

/// Python's `one in all`.
bool Contains(const JinjaValue& all, const JinjaValue& one, JinjaRuntime& runtime);

/// A value as json.dumps writes it. `indent` is negative if everything is in one line.
MarkedText PythonJson(const JinjaValue& value, int indent, bool ascii, bool sort_keys);

}  // namespace scorecast::coordinator
