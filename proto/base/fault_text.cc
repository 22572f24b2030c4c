#include "proto/base/fault_text.h"

#include <cstddef>
#include <filesystem>
#include <new>
#include <stdexcept>

#include "proto/base/one_line.h"

namespace scorecast::proto {

std::string FaultText(const std::exception& fault) {
  if (dynamic_cast<const std::bad_alloc*>(&fault) != nullptr) {
    return "there is not enough memory";
  }
  if (const auto* of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&fault)) {
    const std::string path = OneLinePath(of_file->path1().string());
    return (path.empty() ? "" : path + ": ") + of_file->code().message();
  }
  return fault.what();
}

}  // namespace scorecast::proto
