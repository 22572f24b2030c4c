#include "coordinator/rerank/rerank_template.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/rerank/built_in_templates.h"
#include "coordinator/templates/template_file.h"
#include "coordinator/templates/template_reader.h"
#include "coordinator/text/files/model_file.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using proto::Quoted;
using proto::StartupError;

/// Reads a template's file.
class Parser : public TemplateReader {
 public:
  Parser(std::string name, const std::string& origin) : TemplateReader(origin) {
    template_.name = std::move(name);
  }

  RerankTemplate Parse(std::string_view text) {
    ReadLines(text);
    Finish();
    return std::move(template_);
  }

 private:
  bool MayRepeat(const std::string& key) const override {
    return key == "prompt" || key == "piece";
  }

  void ReadValue(const std::string& key, std::string_view value) override {
    if (key == "prompt") {
      prompt_ += String(key, value);
      has_prompt_ = true;
    } else if (key == "piece") {
      template_.pieces.push_back(ReadPiece(String(key, value)));
    } else if (key == "instruction") {
      template_.default_instruction = String(key, value);
    } else if (key == "true") {
      template_.true_label = ReadLabel(key, value);
      has_true_ = true;
    } else if (key == "false") {
      template_.false_label = ReadLabel(key, value);
    } else if (key == "score") {
      const std::optional<ScoreFormula> formula = ScoreFormula::Parse(value);
      if (!formula) {
        Fail(
            "score must be \"true\", \"true - false\", \"(true - false) / NUMBER\" or one of them "
            "in \"sigmoid(…)\", but it is " +
            Quoted(value));
      }
      template_.formula = *formula;
      has_score_ = true;
    } else if (key == "control") {
      template_.control_tokens = Strings(key, value);
    } else if (key == "model_type") {
      template_.model_types = Strings(key, value);
    } else if (key == "model_name") {
      template_.model_names = Strings(key, value);
    } else if (key == "default") {
      template_.is_default = Bool(key, value);
    } else {
      Fail("unknown key " + Quoted(key));
    }
  }

  RerankTemplate::Label ReadLabel(const std::string& key, std::string_view text) const {
    const nlohmann::json value = Value(key, text);
    if (value.is_number_integer()) {
      const auto id = value.get<std::int64_t>();
      if (id < 0 || id > std::numeric_limits<proto::TokenId>::max()) {
        Fail(key + ": " + Quoted(text) + " is no token id");
      }
      return static_cast<proto::TokenId>(id);
    }
    return value.is_string() && !value.get_ref<const std::string&>().empty()
               ? std::vector<std::string>{value.get<std::string>()}
               : Strings(key, text);
  }

  TemplateText ReadPiece(std::string_view text) {
    TemplateText piece = Text(text, {{"query", "document", "instruction"}, {"instruction"}});
    for (const TemplatePart& part : piece) {
      if (!part.is_text()) {
        if (std::find(places_.begin(), places_.end(), part.place) != places_.end()) {
          Fail("{" + part.place + "} stands in the prompt twice");
        }
        places_.push_back(part.place);
      }
    }
    return piece;
  }

  void Finish() {
    if (has_prompt_ && !template_.pieces.empty()) {
      Fail("a template has \"prompt\" lines or \"piece\" lines, not both");
    }
    if (has_prompt_) {
      template_.pieces.push_back(ReadPiece(prompt_));
    }
    for (const std::string place : {"query", "document"}) {
      if (std::find(places_.begin(), places_.end(), place) == places_.end()) {
        Fail("the prompt has no {" + place + "}");
      }
    }
    if (!has_score_) {
      Fail("score is missing");
    }
    if (!has_true_) {
      Fail("true, the label's token, is missing");
    }
    if (template_.formula.has_false() != template_.false_label.has_value()) {
      Fail(template_.false_label ? "false is given, but score does not have it"
                                 : "false, the label's token, is missing: score has it");
    }
  }

  RerankTemplate template_;
  std::string prompt_;
  std::vector<std::string> places_;
  bool has_prompt_ = false;
  bool has_true_ = false;
  bool has_score_ = false;
};

}  // namespace

RerankTemplate ParseRerankTemplate(std::string_view text, std::string name,
                                   const std::string& origin) {
  return Parser(std::move(name), origin).Parse(text);
}

const std::vector<RerankTemplate>& BuiltInTemplates() {
  static const std::vector<RerankTemplate> templates = [] {
    std::vector<RerankTemplate> read;
    for (const TemplateFile& file : BuiltInRerankFiles()) {
      read.push_back(
          ParseRerankTemplate(file.text, std::string(file.name), std::string(file.name) + ".txt"));
    }
    return read;
  }();
  return templates;
}

const RerankTemplate* FindBuiltInTemplate(std::string_view name) {
  const auto& templates = BuiltInTemplates();
  const auto found = std::find_if(templates.begin(), templates.end(),
                                  [&](const RerankTemplate& one) { return one.name == name; });
  return found == templates.end() ? nullptr : &*found;
}

RerankTemplate TemplateOfFlag(std::string_view value) {
  if (const RerankTemplate* built_in = FindBuiltInTemplate(value)) {
    return *built_in;
  }
  const std::filesystem::path file = value;
  if (!IsPath(value) && !ModelFileExists(file)) {
    std::string names;
    for (const RerankTemplate& one : BuiltInTemplates()) {
      names += (names.empty() ? "" : ", ") + one.name;
    }
    throw StartupError("--rerank-template " + Quoted(value) +
                       " is neither a file nor one of: " + names);
  }
  return ParseRerankTemplate(ReadModelFile(file), file.filename().string(), file.string());
}

std::string ControlTokensOfTemplates(std::string_view flag_value) {
  std::vector<RerankTemplate> templates = BuiltInTemplates();
  if (!flag_value.empty()) {
    templates.push_back(TemplateOfFlag(flag_value));
  }
  std::string text;
  for (const RerankTemplate& one : templates) {
    for (const std::string& token : one.control_tokens) {
      text += token + '\0';
    }
  }
  return text;
}

}  // namespace scorecast::coordinator
