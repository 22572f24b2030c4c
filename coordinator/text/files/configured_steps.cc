#include "coordinator/text/files/configured_steps.h"

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;

bool Has(const json& value, const char* name, const json& expected) {
  const auto member = value.is_object() ? value.find(name) : value.end();
  return member != value.end() && *member == expected;
}

using Change = std::function<bool(json&)>;

/// Calls `change` for a step or, if it is a Sequence, for each step in its list `steps`, from which
/// those are left out for which `change` returns false. Returns whether the step itself stays.
bool ChangeSteps(json& step, const std::string& steps, const Change& change) {
  if (!Has(step, "type", "Sequence") || !step.contains(steps) || !step[steps].is_array()) {
    return change(step);
  }
  json kept = json::array();
  for (json& part : step[steps]) {
    if (ChangeSteps(part, steps, change)) {
      kept.push_back(std::move(part));
    }
  }
  step[steps] = std::move(kept);
  return true;
}

/// The same for the step `name` of a document, if it has one.
void ForEachStep(json& document, const std::string& name, const std::string& steps,
                 const Change& change) {
  if (document.is_object() && document.contains(name) &&
      !ChangeSteps(document[name], steps, change)) {
    document[name] = nullptr;
  }
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

/// Throws if a switch is off although the document has the step that it stands for.
void CheckOff(const TokenizerConfig& config, const char* name, const std::optional<bool>& value,
              const char* step, json& document) {
  if (value.value_or(true)) {
    return;
  }
  ForEachStep(document, "normalizer", "normalizers", [&](const json& normalizer) {
    if (Has(normalizer, "type", step)) {
      throw proto::StartupError(config.origin + ": " + name +
                                ": false is not supported, because tokenizer.json has the " +
                                "normalizer " + step);
    }
    return true;
  });
}

/// Puts a BertNormalizer that has nothing but the switches behind the normalizers of a document.
void AppendBertNormalizer(const TokenizerConfig& config, json& document) {
  const bool lowercase = config.do_lower_case.value_or(false);
  json added = {{"type", "BertNormalizer"},
                {"clean_text", false},
                {"handle_chinese_chars", config.tokenize_chinese_chars.value_or(false)},
                {"strip_accents", config.strip_accents.value_or(lowercase)},
                {"lowercase", lowercase}};
  json& normalizer = document["normalizer"];
  if (normalizer.is_null()) {
    normalizer = std::move(added);
  } else {
    json steps = {std::move(normalizer), std::move(added)};
    normalizer = {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
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

void SetBertSwitches(const TokenizerConfig& config, json& document) {
  bool is_set = false;
  ForEachStep(document, "normalizer", "normalizers", [&](json& step) {
    if (Has(step, "type", "BertNormalizer")) {
      is_set = true;
      step["lowercase"] = config.do_lower_case.value_or(true);
      step["strip_accents"] = config.strip_accents ? json(*config.strip_accents) : json();
      step["handle_chinese_chars"] = config.tokenize_chinese_chars.value_or(true);
    }
    return true;
  });
  const auto model = document.is_object() ? document.find("model") : document.end();
  if (is_set || model == document.end() || !Has(*model, "type", "WordPiece")) {
    return;
  }
  CheckOff(config, "do_lower_case", config.do_lower_case, "Lowercase", document);
  CheckOff(config, "strip_accents", config.strip_accents, "StripAccents", document);
  if (config.do_lower_case.value_or(false) || config.strip_accents.value_or(false) ||
      config.tokenize_chinese_chars.value_or(false)) {
    AppendBertNormalizer(config, document);
  }
}

}  // namespace scorecast::coordinator
