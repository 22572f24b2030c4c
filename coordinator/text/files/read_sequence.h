#pragma once

#include <functional>
#include <string_view>

#include "coordinator/text/files/json_cursor.h"

namespace scorecast::coordinator {

/// Calls `step` for every step of a part of a tokenizer.json, in order: the part itself or, if its
/// type is Sequence, the steps that its member `list` has. A Sequence may contain others.
void ForEachStep(const JsonCursor& part, std::string_view list,
                 const std::function<void(const JsonCursor&)>& step);

/// Throws StartupError: "<field>: <type> is not supported here".
[[noreturn]] void RefuseType(const JsonCursor& step);

/// Reads a member that is one character.
const std::string& ReadCharacter(const JsonCursor& step, std::string_view name);

}  // namespace scorecast::coordinator
