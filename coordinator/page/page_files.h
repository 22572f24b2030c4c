#pragma once

#include <span>
#include <string_view>

namespace scorecast::coordinator {

/// A file of the page that CMake made part of the program.
struct PageFile {
  std::string_view name;  ///< Without ".html", ".css" or ".js".
  std::string_view text;
};

/// The document, its style, and then its scripts in their order.
std::span<const PageFile> PageFiles();

}  // namespace scorecast::coordinator
