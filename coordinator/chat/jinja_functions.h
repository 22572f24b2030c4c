#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/chat/jinja_runtime.h"
#include "coordinator/chat/jinja_value.h"

namespace scorecast::coordinator {

/// Arguments with names.
using JinjaKeywords = std::vector<std::pair<std::string, JinjaValue>>;

/// The arguments of a call.
struct JinjaCall {
  /// In the order of JinjaFunction::parameters; shorter if the last ones are not given, and longer
  /// if the function takes more.
  std::vector<std::optional<JinjaValue>> arguments;
  JinjaKeywords others;  ///< Those without a parameter of the name, if the function takes any.
  JinjaRuntime& runtime;

  bool Has(std::size_t i) const { return i < arguments.size() && arguments[i].has_value(); }
  /// Undefined if it is not given.
  const JinjaValue& At(std::size_t i) const;
  /// The arguments from `first` on.
  std::vector<JinjaValue> From(std::size_t first) const;

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
  bool takes_names = true;    ///< Whether arguments may name a parameter.
  bool takes_more = false;    ///< Any number of arguments behind the parameters.
  bool takes_others = false;  ///< Arguments of any other name.
};

// Null if there is none of this name.

const JinjaFunction* FindJinjaFilter(std::string_view name);
const JinjaFunction* FindJinjaTest(std::string_view name);
const JinjaFunction* FindJinjaMethod(std::string_view name);
const JinjaFunction* FindJinjaGlobal(std::string_view name);

/// The same for `name` in a list of functions.
const JinjaFunction* FindIn(std::span<const JinjaFunction> functions, std::string_view name);

/// Why a function does not take so many arguments without and these with a name; empty if it does.
/// `named` is the function, such as "the filter "trim"".
std::string ArgumentsFault(const JinjaFunction& function, const std::string& named,
                           std::size_t positional, std::span<const std::string_view> keywords);

/// Calls a function. Throws JinjaFault if it does not take the arguments.
JinjaValue Apply(const JinjaFunction& function, std::vector<JinjaValue> positional,
                 JinjaKeywords keywords, JinjaRuntime& runtime);

/// Jinja's `value.name`, and `value[key]`. Throw JinjaFault if that is something of Python's: a
/// method that is not called, for example.
JinjaValue AttributeOf(const JinjaValue& value, std::string_view name);
JinjaValue ItemOf(const JinjaValue& value, const JinjaValue& key, JinjaRuntime& runtime);

/// The member of an object with this key; null if there is none. Throws JinjaFault if the value can
/// be no key.
const JinjaValue* FindKey(const JinjaValue& object, const JinjaValue& key);

/// Equal, whose time counts.
bool IsEqual(const JinjaValue& a, const JinjaValue& b, JinjaRuntime& runtime);

/// Python's `one in all`.
bool Contains(const JinjaValue& all, const JinjaValue& one, JinjaRuntime& runtime);

/// How json.dumps writes a value.
struct PythonJsonOptions {
  int indent = -1;  ///< Negative: everything is in one line.
  bool ascii = false;
  bool sort_keys = false;
  MarkedText between_items{", "};
  MarkedText behind_key{": "};
};

MarkedText PythonJson(const JinjaValue& value, const PythonJsonOptions& options);

}  // namespace scorecast::coordinator
