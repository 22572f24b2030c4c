#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace scorecast::coordinator {

/// What a model directory says about the prompts that its model knows.
struct ModelEvidence {
  std::vector<std::string> chat_templates;
  std::string chat_template_jinja;  ///< Empty if there is no such file.
  // In lower case; empty if there is none.
  std::string directory_name;
  std::string card_title;

  /// The model's names and what each is, for people; the directory's first.
  std::vector<std::pair<std::string, std::string>> Names() const;
};

/// Throws StartupError, one line that names the file, if one is malformed.
ModelEvidence ReadModelEvidence(const std::filesystem::path& model_dir);

/// Whether one of `parts` is in `name`.
bool HasNamePart(const std::vector<std::string>& parts, const std::string& name);

}  // namespace scorecast::coordinator
