#include "launcher/client/question_flags.h"

#include <cstddef>
#include <map>
#include <set>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "proto/base/one_line.h"
#include "proto/base/trimmed.h"
#include "proto/scorecast.pb.h"

namespace scorecast::launcher {
namespace {

using proto::Quoted;
using proto::Trimmed;

/// The first place of `separator` without a backslash before it, or npos.
std::size_t FindBare(std::string_view text, char separator) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == separator) {
      return i;
    }
  }
  return std::string_view::npos;
}

/// The text without white space around it and without the backslashes that protect a character.
std::string Unescaped(std::string_view text) {
  text = Trimmed(text);
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool protects = text[i] == '\\' && i + 1 < text.size() &&
                          (text[i + 1] == '=' || text[i + 1] == ',' || text[i + 1] == '\\');
    i += protects ? 1 : 0;
    plain += text[i];
  }
  return plain;
}

/// The id and the rest of ID=REST.
std::pair<std::string, std::string_view> SplitAtId(std::string_view text, const std::string& flag,
                                                   const std::string& form) {
  const std::size_t equals = FindBare(text, '=');
  std::string id =
      equals == std::string_view::npos ? std::string() : Unescaped(text.substr(0, equals));
  if (id.empty()) {
    throw std::runtime_error(flag + " " + Quoted(text) + " is not " + form);
  }
  return {std::move(id), text.substr(equals + 1)};
}

std::vector<std::string> OptionsOf(std::string_view text, const QuestionFlag& flag) {
  std::vector<std::string> options;
  bool has_more = true;
  while (has_more) {
    const std::size_t comma = FindBare(text, ',');
    has_more = comma != std::string_view::npos;
    options.push_back(Unescaped(text.substr(0, comma)));
    if (options.back().empty()) {
      throw std::runtime_error("--" + flag.type + " " + Quoted(flag.text) + " has an empty " +
                               (flag.type == "choice" ? "option" : "level"));
    }
    text.remove_prefix(has_more ? comma + 1 : text.size());
  }
  return options;
}

v1::NamedQuestion ToQuestion(const QuestionFlag& flag) {
  v1::NamedQuestion question;
  question.mutable_value()->set_type(flag.type);
  if (flag.type == "noul") {
    if (Trimmed(flag.text).empty()) {
      throw std::runtime_error("--question has no text");
    }
    question.set_key(flag.text);
    return question;
  }
  auto [id, rest] = SplitAtId(flag.text, "--" + flag.type,
                              flag.type == "choice" ? "ID=OPTION,OPTION,…" : "ID=LEVEL,LEVEL,…");
  question.set_key(std::move(id));
  v1::DecisionCriteria& criteria = *question.mutable_value()->mutable_criteria();
  for (std::string& option : OptionsOf(rest, flag)) {
    if (flag.type == "choice") {
      criteria.mutable_options()->add_options()->set_key(std::move(option));
    } else {
      criteria.mutable_levels()->add_levels()->set_text(std::move(option));
    }
  }
  return question;
}

/// Texts by the ids of their questions.
std::map<std::string, std::string> TextsById(const std::vector<std::string>& instructions) {
  std::map<std::string, std::string> texts;
  for (const std::string& text : instructions) {
    auto [id, rest] = SplitAtId(text, "--instructions", "ID=TEXT");
    if (!texts.emplace(id, rest).second) {
      throw std::runtime_error("--instructions is given twice for " + Quoted(id));
    }
  }
  return texts;
}

}  // namespace

void AddQuestions(const std::vector<QuestionFlag>& flags,
                  const std::vector<std::string>& instructions, v1::SystemOneRequest& request) {
  const std::map<std::string, std::string> texts = TextsById(instructions);
  std::set<std::string> ids;
  for (const QuestionFlag& flag : flags) {
    v1::NamedQuestion& question = *request.add_questions();
    question = ToQuestion(flag);
    if (!ids.insert(question.key()).second) {
      throw std::runtime_error("two questions have the id " + Quoted(question.key()));
    }
    const auto text = texts.find(question.key());
    question.mutable_value()->mutable_instructions()->set_text(text == texts.end() ? question.key()
                                                                                   : text->second);
  }
  for (const auto& [id, text] : texts) {
    if (!ids.contains(id)) {
      throw std::runtime_error("--instructions " + Quoted(id + "=" + text) +
                               ": no question has the id " + Quoted(id));
    }
  }
}

}  // namespace scorecast::launcher
