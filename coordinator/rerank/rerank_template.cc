#include "coordinator/rerank/rerank_template.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/rerank/built_in_templates.h"
#include "coordinator/text/files/model_file.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using nlohmann::json;
using proto::Quoted;
using proto::StartupError;
using Part = RerankTemplate::Part;
using PartKind = RerankTemplate::PartKind;

constexpr std::string_view kBlanks = " \t\r";

std::string_view Trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

/// Reads a template's file line by line.
class Parser {
 public:
  Parser(std::string name, const std::string& origin) : origin_(origin) {
    template_.name = std::move(name);
  }

  RerankTemplate Parse(std::string_view text) {
    for (line_ = 1; !text.empty(); ++line_) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ReadLine(Trimmed(text.substr(0, end)));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    line_ = 0;  // Faults of the whole file name no line.
    Finish();
    return std::move(template_);
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    throw StartupError(proto::OneLinePath(origin_) +
                       (line_ > 0 ? ":" + std::to_string(line_) : "") + ": " + what);
  }

  void ReadLine(std::string_view line) {
    if (line.empty() || line.front() == '#') {
      return;
    }
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) {
      Fail("a line must be \"key: value\" or a comment that begins with #");
    }
    const std::string key(Trimmed(line.substr(0, colon)));
    const std::string_view value = Trimmed(line.substr(colon + 1));
    const bool may_repeat = key == "prompt" || key == "piece";
    if (!may_repeat && !seen_.insert(key).second) {
      Fail(key + " is given twice");
    }
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

  json Value(const std::string& key, std::string_view text) const {
    json value = json::parse(text, nullptr, /*allow_exceptions=*/false);
    if (value.is_discarded()) {
      Fail(key + " must be JSON, such as \"text\\n\", but it is " + Quoted(text));
    }
    return value;
  }

  std::string String(const std::string& key, std::string_view text) const {
    const json value = Value(key, text);
    if (!value.is_string()) {
      Fail(key + " must be a string in quotation marks, but it is " + Quoted(text));
    }
    return value.get<std::string>();
  }

  bool Bool(const std::string& key, std::string_view text) const {
    const json value = Value(key, text);
    if (!value.is_boolean()) {
      Fail(key + " must be true or false, but it is " + Quoted(text));
    }
    return value.get<bool>();
  }

  std::vector<std::string> Strings(const std::string& key, std::string_view text) const {
    const json value = Value(key, text);
    const bool is_list = value.is_array() && !value.empty() &&
                         std::all_of(value.begin(), value.end(), [](const json& one) {
                           return one.is_string() && !one.get_ref<const std::string&>().empty();
                         });
    if (!is_list) {
      Fail(key + " must be a list of strings, but it is " + Quoted(text));
    }
    return value.get<std::vector<std::string>>();
  }

  RerankTemplate::Label ReadLabel(const std::string& key, std::string_view text) const {
    const json value = Value(key, text);
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

  /// Reads the text of a piece with its {placeholders}.
  RerankTemplate::Piece ReadPiece(std::string_view text) {
    RerankTemplate::Piece piece;
    std::string literal;
    bool in_condition = false;
    const auto add = [&](PartKind kind, std::string part_text) {
      piece.push_back(
          {.kind = kind, .text = std::move(part_text), .only_with_instruction = in_condition});
    };
    const auto add_literal = [&] {
      if (!literal.empty()) {
        add(PartKind::kText, std::exchange(literal, {}));
      }
    };
    while (!text.empty()) {
      if (text.starts_with("{{") || text.starts_with("}}")) {
        literal += text.front();
        text.remove_prefix(2);
        continue;
      }
      if (text.front() == '}') {
        Fail("a \"}\" without \"{\"; a brace itself is written twice");
      }
      if (text.front() != '{') {
        literal += text.front();
        text.remove_prefix(1);
        continue;
      }
      const std::size_t end = text.find('}');
      const std::string_view name = text.substr(1, end == text.npos ? end : end - 1);
      add_literal();
      const bool is_closed = end != std::string_view::npos;
      if (is_closed && (name == "document" || name == "query" || name == "instruction")) {
        const PartKind kind = name == "document" ? PartKind::kDocument
                              : name == "query"  ? PartKind::kQuery
                                                 : PartKind::kInstruction;
        if (in_condition && kind != PartKind::kInstruction) {
          Fail("{" + std::string(name) + "} must not stand between {if instruction} and {end}");
        }
        if (std::find(placeholders_.begin(), placeholders_.end(), kind) != placeholders_.end()) {
          Fail("{" + std::string(name) + "} stands in the prompt twice");
        }
        placeholders_.push_back(kind);
        add(kind, "");
      } else if (name == "if instruction" && !in_condition) {
        in_condition = true;
      } else if (name == "end" && in_condition) {
        in_condition = false;
      } else {
        Fail("unknown placeholder {" + proto::OneLine(name, 64) +
             "}; there are {query}, {document}, {instruction}, {if instruction} and {end}; a "
             "brace itself is written twice");
      }
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
    }
    add_literal();
    if (in_condition) {
      Fail("{if instruction} without {end}");
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
    for (const auto& [kind, name] :
         {std::pair(PartKind::kQuery, "query"), std::pair(PartKind::kDocument, "document")}) {
      if (std::find(placeholders_.begin(), placeholders_.end(), kind) == placeholders_.end()) {
        Fail("the prompt has no {" + std::string(name) + "}");
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

  const std::string& origin_;
  int line_ = 0;
  RerankTemplate template_;
  std::string prompt_;
  std::set<std::string> seen_;
  std::vector<PartKind> placeholders_;
  bool has_prompt_ = false;
  bool has_true_ = false;
  bool has_score_ = false;
};

/// Names of built-in templates have neither.
bool IsFile(std::string_view value) { return value.find_first_of("/.") != std::string_view::npos; }

}  // namespace

RerankTemplate ParseRerankTemplate(std::string_view text, std::string name,
                                   const std::string& origin) {
  return Parser(std::move(name), origin).Parse(text);
}

const std::vector<RerankTemplate>& BuiltInTemplates() {
  static const std::vector<RerankTemplate> templates = [] {
    std::vector<RerankTemplate> read;
    for (const TemplateFile& file : BuiltInTemplateFiles()) {
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
  if (!IsFile(value) && !ModelFileExists(file)) {
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
