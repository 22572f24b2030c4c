#include "launcher/address/front_key.h"

#include <fstream>

#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::launcher {

std::string ReadFrontKey(const std::filesystem::path& path) {
  const std::string name = "--front-key " + proto::OneLinePath(path.string());
  std::ifstream file(path, std::ios::binary);
  std::string key;
  if (!std::getline(file, key)) {
    throw proto::StartupError(name + ": cannot be read, or is empty");
  }
  if (key.ends_with('\r')) {
    key.pop_back();
  }
  if (key.empty() || key.find_first_of(" \t") != std::string::npos) {
    throw proto::StartupError(name + ": its first line must be the key alone");
  }
  return key;
}

}  // namespace scorecast::launcher
