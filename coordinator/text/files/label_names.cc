#include "coordinator/text/files/label_names.h"

#include <nlohmann/json.hpp>

#include "coordinator/text/files/json_cursor.h"
#include "coordinator/text/files/model_file.h"
#include "proto/base/python_text.h"

namespace scorecast::coordinator {
namespace {

/// A name as text, which Python's str makes of a number or a truth value.
std::string TextOf(const JsonCursor& name) {
  const nlohmann::json& value = name.value();
  if (value.is_number_float()) {
    return proto::PythonText(value.get<double>());
  }
  if (value.is_number()) {
    return value.dump();
  }
  if (value.is_boolean()) {
    return value.get<bool>() ? "True" : "False";
  }
  return name.String();
}

}  // namespace

std::vector<std::string> ReadLabelNames(const std::filesystem::path& model_dir,
                                        const proto::ModelConfig& config) {
  std::vector<std::string> names;
  for (std::int64_t i = 0; i < config.num_labels; ++i) {
    names.push_back("LABEL_" + std::to_string(i));
  }
  if (config.read_head && config.read_head->ends_with_module()) {
    return names;
  }
  const std::filesystem::path file = model_dir / "config.json";
  const nlohmann::json document = ParseJsonFile(ReadModelFile(file), file.string());
  const JsonCursor root(document, file.string());
  if (const auto id2label = root.Find("id2label")) {
    for (std::int64_t i = 0; i < config.num_labels; ++i) {
      if (const auto name = id2label->Find(std::to_string(i))) {
        std::string& label = names[static_cast<std::size_t>(i)];
        label = TextOf(*name);
        if (static_cast<std::int64_t>(label.size()) > kMaxLabelBytes) {
          name->Fail("has more than " + std::to_string(kMaxLabelBytes) + " bytes");
        }
      }
    }
  }
  return names;
}

}  // namespace scorecast::coordinator
