#pragma once

#include <string_view>

namespace scorecast::coordinator {

/// A template's file that CMake made part of the program.
struct TemplateFile {
  std::string_view name;  ///< Without ".txt".
  std::string_view text;
};

/// Whether the value of a flag is a file in any case. Names of built-in templates have neither a
/// slash nor a dot.
inline bool IsPath(std::string_view value) {
  return value.find_first_of("/.") != std::string_view::npos;
}

}  // namespace scorecast::coordinator
