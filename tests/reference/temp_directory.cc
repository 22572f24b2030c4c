#include "tests/reference/temp_directory.h"

#include <cerrno>
#include <cstdlib>
#include <string>
#include <system_error>

namespace scorecast::reference {

TempDirectory::TempDirectory() {
  std::string name = (std::filesystem::temp_directory_path() / "scorecast-test-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) {
    throw std::system_error(errno, std::generic_category(), name);
  }
  path_ = name;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;  // A destructor cannot report errors.
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace scorecast::reference
