#include "tests/reference/golden_directories.h"

#include <algorithm>
#include <cstdlib>

namespace scorecast::reference {

GoldenDirectories FindGoldenDirectories(const std::filesystem::path& golden_dir) {
  std::vector<std::filesystem::path> parents = {golden_dir / "families", golden_dir / "odd"};
  if (const char* more = std::getenv("SCORECAST_MORE_GOLDENS")) {
    parents.emplace_back(more);
  }
  GoldenDirectories found;
  for (const std::filesystem::path& parent : parents) {
    for (const auto& entry : std::filesystem::directory_iterator(parent)) {
      const std::string name = entry.path().string();
      (name.ends_with("-classifier") ? found.classifiers : found.language_models).push_back(name);
    }
  }
  // All ranks run the tests in the same order.
  std::ranges::sort(found.language_models);
  std::ranges::sort(found.classifiers);
  return found;
}

}  // namespace scorecast::reference
