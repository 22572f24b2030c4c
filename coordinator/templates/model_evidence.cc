#include "coordinator/templates/model_evidence.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "coordinator/templates/model_card.h"
#include "coordinator/text/files/chat_template.h"
#include "coordinator/text/files/model_file.h"
#include "coordinator/text/files/tokenizer_config.h"
#include "proto/base/letter_case.h"

namespace scorecast::coordinator {
namespace {

constexpr std::string_view kModelCard = "README.md";

/// The name of the model in a directory's path. Hugging Face's cache keeps models in
/// models--OWNER--NAME/snapshots/HASH.
std::string NameOf(const std::filesystem::path& model_dir) {
  const std::filesystem::path dir = std::filesystem::weakly_canonical(model_dir);
  const bool is_snapshot = dir.parent_path().filename() == "snapshots";
  return proto::ToLower((is_snapshot ? dir.parent_path().parent_path() : dir).filename().string());
}

}  // namespace

std::vector<std::pair<std::string, std::string>> ModelEvidence::Names() const {
  return {{directory_name, "directory's name"},
          {card_title, "model card's title (" + std::string(kModelCard) + ")"}};
}

ModelEvidence ReadModelEvidence(const std::filesystem::path& model_dir) {
  ModelEvidence evidence{.directory_name = NameOf(model_dir)};
  const std::string texts = LoadTokenizerConfig(model_dir).chat_templates;
  for (std::size_t begin = 0; begin < texts.size();) {
    const std::size_t end = std::min(texts.find('\0', begin), texts.size());
    evidence.chat_templates.push_back(texts.substr(begin, end - begin));
    begin = end + 1;
  }
  const std::filesystem::path jinja = model_dir / "chat_template.jinja";
  if (ModelFileExists(jinja)) {
    evidence.chat_template_jinja = ReadModelFile(jinja);
  }
  const std::filesystem::path card = model_dir / kModelCard;
  if (ModelFileExists(card)) {
    evidence.card_title = proto::ToLower(ModelCardTitle(ReadModelFile(card)));
  }
  return evidence;
}

bool HasNamePart(const std::vector<std::string>& parts, const std::string& name) {
  return std::ranges::any_of(
      parts, [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

}  // namespace scorecast::coordinator
