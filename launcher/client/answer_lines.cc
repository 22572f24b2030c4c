#include "launcher/client/answer_lines.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

#include "launcher/client/decision_body.h"
#include "launcher/client/terminal_text.h"
#include "proto/scorecast.pb.h"

namespace scorecast::launcher {
namespace {

/// Columns of "  > 100.0 % ", which precede a bar.
constexpr int kProbabilityColumns = 12;

struct ShownOption {
  std::string text;
  double probability = 0;
};

std::string Formatted(const char* format, double number) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

std::string Percent(double part) { return Formatted("%.1f %%", 100 * part); }

std::string WithDescription(const std::string& name, const std::string& description) {
  return description.empty() ? name : name + " - " + description;
}

std::string TitleOf(const v1::NamedQuestion& question) {
  const std::string& instructions = ShownText(question.value().instructions());
  std::string title = question.value().type();
  title.resize(std::max<std::size_t>(title.size() + 1, 8), ' ');
  title += question.key();
  return instructions.empty() || instructions == question.key() ? title
                                                                : title + ": " + instructions;
}

/// The meaning of an outcome of a noul, or nothing.
std::string OutcomeText(const v1::DecisionQuestion& question, const std::string& outcome) {
  for (const v1::DecisionOption& option : question.criteria().options().options()) {
    if (option.key() == outcome) {
      return WithDescription(outcome, ShownText(option.value()));
    }
  }
  return outcome;
}

std::vector<ShownOption> OptionsOf(const v1::DecisionQuestion& question,
                                   const v1::DecisionAnswer& answer) {
  if (answer.type() == "noul") {
    return {{OutcomeText(question, "true"), answer.noul()},
            {OutcomeText(question, "false"), 1 - answer.noul()}};
  }
  const v1::DecisionCriteria& criteria = question.criteria();
  std::vector<ShownOption> options;
  for (int i = 0; i < answer.probabilities_size(); ++i) {
    std::string text;
    if (criteria.has_options() && i < criteria.options().options_size()) {
      const v1::DecisionOption& option = criteria.options().options(i);
      text = WithDescription(option.key(), ShownText(option.value()));
    } else if (criteria.has_levels() && i < criteria.levels().levels_size()) {
      text = std::to_string(i) + " " + ShownText(criteria.levels().levels(i));
    }
    options.push_back({std::move(text), answer.probabilities(i)});
  }
  return options;
}

/// What an answer has besides its probabilities; may be empty.
std::string RestOf(const v1::DecisionAnswer& answer) {
  std::string rest;
  const auto add = [&rest](const std::string& part) { rest += (rest.empty() ? "" : ", ") + part; };
  if (answer.has_score()) {
    add(Formatted("score %.2f", answer.score()));
  }
  if (answer.has_confidence()) {
    add("confidence " + Percent(answer.confidence()));
  }
  if (answer.has_x_label_mass()) {
    add("label mass " + Percent(answer.x_label_mass()));
  }
  return rest;
}

}  // namespace

std::vector<std::string> AnswerLines(const v1::SystemOneRequest& request,
                                     const v1::SystemOneResponse& response, int columns) {
  const int bar_columns = BarColumns(columns);
  std::vector<std::string> lines;
  for (int i = 0; i < std::min(request.questions_size(), response.answers_size()); ++i) {
    const v1::NamedQuestion& question = request.questions(i);
    const v1::DecisionAnswer& answer = response.answers(i);
    if (i > 0) {
      lines.emplace_back();
    }
    lines.push_back(Fitted(TitleOf(question), ColumnsLeft(columns, 0)));
    const std::vector<ShownOption> options = OptionsOf(question.value(), answer);
    // The first of equals is the answer, as in the response.
    const auto best = std::ranges::max_element(options, {}, &ShownOption::probability);
    for (auto option = options.begin(); option != options.end(); ++option) {
      lines.push_back(
          (option == best ? "  > " : "    ") + Formatted("%5.1f %% ", 100 * option->probability) +
          Bar(option->probability, bar_columns) + " " +
          Fitted(option->text, ColumnsLeft(columns, kProbabilityColumns + bar_columns + 1)));
    }
    if (const std::string rest = RestOf(answer); !rest.empty()) {
      lines.push_back(Fitted("    " + rest, ColumnsLeft(columns, 0)));
    }
  }
  return lines;
}

}  // namespace scorecast::launcher
