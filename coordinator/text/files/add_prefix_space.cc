#include "coordinator/text/files/add_prefix_space.h"

#include <functional>
#include <string>

namespace scorecast::coordinator {
namespace {

using nlohmann::json;

bool Has(const json& value, const char* name, const json& expected) {
  const auto member = value.is_object() ? value.find(name) : value.end();
  return member != value.end() && *member == expected;
}

/// Calls `change` for the step `name` of the document or, if this step is a Sequence, for each step
/// in its list `steps`. Steps for which `change` returns false are left out.
void ForEachStep(json& document, const std::string& name, const std::string& steps,
                 const std::function<bool(json&)>& change) {
  if (!document.is_object() || !document.contains(name)) {
    return;
  }
  json& step = document[name];
  if (!Has(step, "type", "Sequence") || !step.contains(steps) || !step[steps].is_array()) {
    if (!change(step)) {
      step = nullptr;
    }
    return;
  }
  json kept = json::array();
  for (json& part : step[steps]) {
    if (change(part)) {
      kept.push_back(std::move(part));
    }
  }
  step[steps] = std::move(kept);
}

void SetMetaspace(bool add_prefix_space, json& step) {
  if (Has(step, "type", "Metaspace")) {
    step.erase("add_prefix_space");  // Old files use this name.
    if (!add_prefix_space) {
      step["prepend_scheme"] = "never";
    } else if (Has(step, "prepend_scheme", "never")) {
      step["prepend_scheme"] = "first";
    }
  }
}

}  // namespace

void SetAddPrefixSpace(bool add_prefix_space, json& document) {
  ForEachStep(document, "pre_tokenizer", "pretokenizers", [&](json& step) {
    SetMetaspace(add_prefix_space, step);
    if (Has(step, "type", "ByteLevel")) {
      step["add_prefix_space"] = add_prefix_space;
    }
    return true;
  });
  ForEachStep(document, "normalizer", "normalizers",
              [&](const json& step) { return add_prefix_space || !Has(step, "type", "Prepend"); });
  ForEachStep(document, "decoder", "decoders", [&](json& step) {
    SetMetaspace(add_prefix_space, step);
    return add_prefix_space || !(Has(step, "type", "Strip") && Has(step, "content", " "));
  });
}

}  // namespace scorecast::coordinator
