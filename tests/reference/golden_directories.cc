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
      const bool is_classifier = entry.path().string().ends_with("-classifier");
      (is_classifier ? found.classifiers : found.language_models).push_back({entry.path()});
    }
  }
  // All ranks run the tests in the same order.
  std::ranges::sort(found.language_models, {}, &GoldenDirectory::path);
  std::ranges::sort(found.classifiers, {}, &GoldenDirectory::path);
  return found;
}

}  // namespace scorecast::reference
