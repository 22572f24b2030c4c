#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/chat/jinja_fault.h"

namespace scorecast::coordinator {

/// A part of a template's source.
struct JinjaToken {
  enum class Kind {
    kText,
    kOutputBegin,  ///< {{
    kOutputEnd,
    kTagBegin,  ///< {%
    kTagEnd,
    kName,
    kString,
    kInteger,
    kFloat,
    kOperator,
    kEnd,  ///< The last one.
  };
  Kind kind = Kind::kEnd;
  std::string text;  ///< Of a text, name, operator or string, whose escapes are resolved.
  std::int64_t integer = 0;
  double number = 0;
  JinjaPlace place;
};

/// The tokens of a template, which is valid UTF-8, with the white space control that transformers
/// sets: trim_blocks and lstrip_blocks. Comments are left out. Throws JinjaFault.
std::vector<JinjaToken> JinjaTokens(std::string_view source);

}  // namespace scorecast::coordinator
