#include "coordinator/decisions/decision_template.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordinator/decisions/built_in_templates.h"
#include "coordinator/templates/template_file.h"
#include "coordinator/templates/template_reader.h"
#include "coordinator/text/files/model_file.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

// Logits divided by a temperature outside of these bounds are as good as equal, or exceed a double.
constexpr double kLeastTemperature = 0.01;
constexpr double kLargestTemperature = 100;

using nlohmann::json;
using proto::Quoted;

constexpr std::array<std::string_view, 4> kChoiceBuckets = {"2", "3-5", "6-26", "27-255"};

/// The labels of "A-Z", "0-9" or "AA-ZZ". Nothing if `range` is none.
std::vector<std::string> LabelsOfRange(std::string_view range) {
  const std::size_t size = range.find('-');
  if ((size != 1 && size != 2) || range.size() != 2 * size + 1) {
    return {};
  }
  const std::string_view first = range.substr(0, size);
  const std::string_view last = range.substr(size + 1);
  std::vector<std::string> labels = {""};
  for (std::size_t i = 0; i < size; ++i) {
    std::vector<std::string> longer;
    for (const std::string& label : labels) {
      for (char c = first[i]; c <= last[i] && c > 0; ++c) {
        longer.push_back(label + c);
      }
    }
    labels = std::move(longer);
  }
  return labels;
}

class Parser : public TemplateReader {
 public:
  Parser(std::string name, const std::string& origin) : TemplateReader(origin) {
    template_.name = std::move(name);
  }

  DecisionTemplate Parse(std::string_view text) {
    ReadLines(text);
    Finish();
    return std::move(template_);
  }

 private:
  /// A text of one or several lines of the file.
  struct Lines {
    std::string_view key;
    TemplateText* text;
    TemplatePlaces places;
    bool is_required;
    std::string joined;
    bool is_given = false;
  };

  bool MayRepeat(const std::string& key) const override {
    return std::ranges::any_of(lines_, [&](const Lines& one) { return one.key == key; });
  }

  void ReadValue(const std::string& key, std::string_view value) override {
    const auto lines = std::ranges::find(lines_, key, &Lines::key);
    if (lines != lines_.end()) {
      lines->joined += String(key, value);
      lines->is_given = true;
    } else if (key == "model_type") {
      template_.model_types = Strings(key, value);
    } else if (key == "model_name") {
      template_.model_names = Strings(key, value);
    } else if (key == "chat_template") {
      template_.chat_template = Strings(key, value);
    } else if (key == "chat_template_without") {
      template_.chat_template_without = Strings(key, value);
    } else if (key == "default") {
      template_.is_default = Bool(key, value);
    } else if (key == "control") {
      template_.control_tokens = Strings(key, value);
    } else if (key == "trim") {
      template_.trim = Bool(key, value);
    } else if (key == "labels.noul") {
      ReadNoulLabels(key, value);
    } else if (key == "labels.choice") {
      template_.choice_labels = Range(key, String(key, value));
    } else if (key == "labels.many") {
      template_.many_labels = Range(key, String(key, value));
    } else if (key == "labels.score") {
      const bool is_one = Value(key, value).is_string();
      for (const std::string& range :
           is_one ? std::vector<std::string>{String(key, value)} : Strings(key, value)) {
        template_.score_labels.push_back(Range(key, range));
      }
    } else if (key == "outcomes") {
      template_.all_outcomes = ReadOutcomes(key, String(key, value));
    } else if (key == "json") {
      template_.json_indent = ReadIndent(key, String(key, value));
    } else if (key == "temperature") {
      ReadTemperatures(key, value);
    } else {
      Fail("unknown key " + Quoted(key));
    }
  }

  std::vector<std::string> Range(const std::string& key, const std::string& range) const {
    std::vector<std::string> labels = LabelsOfRange(range);
    if (labels.empty()) {
      Fail(key + " must be a range such as \"A-Z\" or \"AA-ZZ\", but it is " + Quoted(range));
    }
    return labels;
  }

  void ReadNoulLabels(const std::string& key, std::string_view text) {
    const json value = Value(key, text);
    const auto is_spellings = [](const json& list) {
      return list.is_array() && !list.empty() && std::ranges::all_of(list, [](const json& one) {
               return one.is_string() && !one.get_ref<const std::string&>().empty();
             });
    };
    if (!value.is_array() || value.size() != 2 || !std::ranges::all_of(value, is_spellings)) {
      Fail(key + " must be two lists of spellings, such as [[\"yes\"],[\"no\"]], but it is " +
           Quoted(text));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      template_.noul_labels[i] = value[i].get<std::vector<std::string>>();
    }
  }

  bool ReadOutcomes(const std::string& key, const std::string& text) const {
    if (text != "all" && text != "described") {
      Fail(key + " must be \"all\" or \"described\", but it is " + Quoted(text));
    }
    return text == "all";
  }

  int ReadIndent(const std::string& key, const std::string& text) const {
    constexpr std::string_view kIndent = "indent ";
    if (text == "compact") {
      return -1;
    }
    const bool is_indent = text.starts_with(kIndent) && text.size() == kIndent.size() + 1 &&
                           text.back() >= '0' && text.back() <= '8';
    if (!is_indent) {
      Fail(key + " must be \"compact\" or \"indent 2\" (0 to 8), but it is " + Quoted(text));
    }
    return text.back() - '0';
  }

  double Temperature(const std::string& key, const json& value) const {
    const double number = value.is_number() ? value.get<double>() : 0;
    if (!(number >= kLeastTemperature && number <= kLargestTemperature)) {
      Fail(key + ": a temperature must be a number from 0.01 to 100, but it is " +
           Quoted(value.dump()));
    }
    return number;
  }

  void ReadTemperatures(const std::string& key, std::string_view text) {
    const json value = Value(key, text);
    if (!value.is_object()) {
      Fail(key + " must be an object with noul, choice and score, but it is " + Quoted(text));
    }
    DecisionTemperatures& all = template_.temperatures;
    for (const auto& [type, given] : value.items()) {
      if (type == "noul") {
        all.noul = Temperature(key, given);
      } else if (type == "score") {
        all.score = Temperature(key, given);
      } else if (type == "choice" && !given.is_object()) {
        all.choice.fill(Temperature(key, given));
      } else if (type == "choice") {
        for (const auto& [bucket, number] : given.items()) {
          const auto found = std::ranges::find(kChoiceBuckets, bucket);
          if (found == kChoiceBuckets.end()) {
            Fail(key +
                 ": a choice's numbers of options are \"2\", \"3-5\", \"6-26\" and "
                 "\"27-255\", not " +
                 Quoted(bucket));
          }
          all.choice[static_cast<std::size_t>(found - kChoiceBuckets.begin())] =
              Temperature(key, number);
        }
      } else {
        Fail(key + ": unknown type " + Quoted(type));
      }
    }
  }

  void Finish() {
    for (Lines& lines : lines_) {
      if (lines.is_required && !lines.is_given) {
        Fail(std::string(lines.key) + " is missing");
      }
      *lines.text = Text(lines.joined, lines.places);
    }
    if (CountPlaces(template_.state, "state") != 1) {
      Fail("state must have {state} once");
    }
    const TemplatePart& last = template_.state.back();
    if (!last.is_text() || !last.text.ends_with('\n')) {
      Fail(
          "state must end with a line end behind {state}, so that its tokens do not depend on the "
          "question");
    }
    for (const auto& [key, text] : {std::pair("noul", &template_.noul),
                                    {"choice", &template_.choice},
                                    {"score", &template_.score}}) {
      if (CountPlaces(*text, "options") != 1) {
        Fail(std::string(key) + " must have {options} once");
      }
    }
    if (template_.noul_labels[0].empty()) {
      Fail("labels.noul is missing");
    }
    if (template_.choice_labels.empty()) {
      Fail("labels.choice is missing");
    }
    if (template_.score_labels.empty()) {
      Fail("labels.score is missing");
    }
  }

  DecisionTemplate template_;
  std::vector<Lines> lines_ = {
      {"state", &template_.state, {{"state"}, {}}, true, {}},
      {"noul", &template_.noul, {{"instructions", "options"}, {"instructions"}}, true, {}},
      {"choice", &template_.choice, {{"instructions", "options"}, {"instructions"}}, true, {}},
      {"score", &template_.score, {{"instructions", "options"}, {"instructions"}}, true, {}},
      {"end", &template_.end, {{}, {}}, false, {}},
      {"option", &template_.option, {{"label", "name", "description"}, {"description"}}, true, {}},
      {"level", &template_.level, {{"label", "index", "description"}, {}}, true, {}},
      {"outcome",
       &template_.outcome,
       {{"label", "name", "description"}, {"description"}},
       true,
       {}},
  };
};

constexpr std::string_view kFamilies = "sglang-v1";

}  // namespace

std::string_view NameOf(DecisionType type) {
  return type == DecisionType::kNoul ? "noul" : type == DecisionType::kChoice ? "choice" : "score";
}

double DecisionTemperatures::Of(DecisionType type, std::size_t options) const {
  switch (type) {
    case DecisionType::kNoul:
      return noul;
    case DecisionType::kScore:
      return score;
    case DecisionType::kChoice:
      break;
  }
  return choice[options <= 2 ? 0 : options <= 5 ? 1 : options <= kMaxLetters ? 2 : 3];
}

const TemplateText& DecisionTemplate::TextOf(DecisionType type) const {
  return type == DecisionType::kNoul ? noul : type == DecisionType::kChoice ? choice : score;
}

DecisionTemplate ParseDecisionTemplate(std::string_view text, std::string name,
                                       const std::string& origin) {
  return Parser(std::move(name), origin).Parse(text);
}

const std::vector<DecisionTemplate>& BuiltInDecisionTemplates() {
  static const std::vector<DecisionTemplate> templates = [] {
    std::vector<DecisionTemplate> read;
    for (const TemplateFile& file : BuiltInDecisionFiles()) {
      read.push_back(ParseDecisionTemplate(file.text, std::string(file.name),
                                           std::string(file.name) + ".txt"));
    }
    return read;
  }();
  return templates;
}

std::string BuiltInDecisionNames() {
  std::string names(kFamilies);
  for (const DecisionTemplate& one : BuiltInDecisionTemplates()) {
    names += ", " + one.name;
  }
  return names;
}

DecisionTemplate ReadDecisionTemplate(const std::filesystem::path& file) {
  return ParseDecisionTemplate(ReadModelFile(file), file.filename().string(), file.string());
}

std::string ControlTokensOfDecisions(const std::filesystem::path& model_dir,
                                     std::string_view flag_value) {
  std::vector<DecisionTemplate> templates = BuiltInDecisionTemplates();
  for (const std::filesystem::path& file :
       {model_dir / kDecisionTemplateFile,
        IsPath(flag_value) ? std::filesystem::path(flag_value) : std::filesystem::path()}) {
    if (!file.empty() && (ModelFileExists(file) || file == flag_value)) {
      templates.push_back(ReadDecisionTemplate(file));
    }
  }
  std::string text;
  for (const DecisionTemplate& one : templates) {
    for (const std::string& token : one.control_tokens) {
      text += token + '\0';
    }
  }
  return text;
}

}  // namespace scorecast::coordinator
