#include "tests/reference/golden_directories.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

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

EncoderDirectories FindEncoderDirectories(const std::filesystem::path& golden_dir) {
  std::vector<std::filesystem::path> parents = {golden_dir / "encoders"};
  if (const char* more = std::getenv("SCORECAST_MORE_ENCODERS")) {
    parents.emplace_back(more);
  }
  constexpr std::string_view kKinds[] = {"bert-",       "roberta-", "xlm-roberta-", "camembert-",
                                         "distilbert-", "electra-", "modernbert-"};
  EncoderDirectories found;
  for (const std::filesystem::path& parent : parents) {
    for (const auto& entry : std::filesystem::directory_iterator(parent)) {
      const std::string name = entry.path().filename().string();
      const bool is_encoder = std::ranges::any_of(
          kKinds, [&](std::string_view kind) { return name.starts_with(kind); });
      if (is_encoder) {
        const bool is_classifier = name.find("-classifier") != std::string::npos;
        (is_classifier ? found.classifiers : found.embedders).push_back({entry.path()});
      }
    }
  }
  std::ranges::sort(found.embedders, {}, &GoldenDirectory::path);
  std::ranges::sort(found.classifiers, {}, &GoldenDirectory::path);
  return found;
}

double ToleranceOf(const GoldenDirectory& encoder) {
  return encoder.path.filename().string().starts_with("modernbert-") ? 5e-5 : 2e-5;
}

}  // namespace scorecast::reference
