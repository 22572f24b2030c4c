#pragma once

#include <span>
#include <string_view>

namespace scorecast::coordinator {

/// The files of templates/, made part of the program by CMake.
struct TemplateFile {
  std::string_view name;  ///< Without ".txt".
  std::string_view text;
};

std::span<const TemplateFile> BuiltInTemplateFiles();

}  // namespace scorecast::coordinator
