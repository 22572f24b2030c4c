#pragma once

#include <functional>
#include <string_view>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/unicode/regex.h"

namespace scorecast::coordinator {

/// Calls `step` for every step of a part of a tokenizer.json, in order. If the part's type is
/// Sequence, its steps are those in its member `list`, which may contain Sequences again. Otherwise
/// the part itself is the only step.
void ForEachStep(const JsonCursor& part, std::string_view list,
                 const std::function<void(const JsonCursor&)>& step);

/// Throws StartupError: "<field>: <type> is not supported here".
[[noreturn]] void RefuseType(const JsonCursor& step);

/// Reads a member that must be a single character.
const std::string& ReadCharacter(const JsonCursor& step, std::string_view name);

/// Reads a `pattern` of a tokenizer.json: {"String": …} or {"Regex": …}. Throws StartupError if it
/// is malformed or needs something that is not supported.
Regex ReadPattern(const JsonCursor& pattern);

}  // namespace scorecast::coordinator
