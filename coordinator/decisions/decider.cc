#include "coordinator/decisions/decider.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "coordinator/text/unicode/unicode_classes.h"
#include "proto/base/one_line.h"

namespace scorecast::coordinator {

using proto::Expected;
using proto::Unexpected;

namespace {

using Ids = std::vector<TokenId>;

/// A text that is white space alone is left out.
std::string_view NotBlank(std::string_view text) {
  return WithoutLeadingSpace(text).empty() ? std::string_view() : text;
}

/// The value of each place of a text.
using PlaceValues = std::initializer_list<std::pair<std::string_view, std::string_view>>;

std::string_view ValueOf(const PlaceValues& values, std::string_view place) {
  const auto* found =
      std::ranges::find(values, place, &std::pair<std::string_view, std::string_view>::first);
  return found == values.end() ? std::string_view() : found->second;
}

void AddText(const TemplateText& parts, const PlaceValues& values, std::string& text) {
  for (const TemplatePart& part : parts) {
    if (part.condition.empty() || !ValueOf(values, part.condition).empty()) {
      text += part.is_text() ? std::string_view(part.text) : ValueOf(values, part.place);
    }
  }
}

/// The tokens of a prompt's sections, with texts in their places.
Expected<Ids, EncodeFault> TokensOf(const std::vector<TemplateSection>& sections,
                                    const PlaceValues& values, bool trim,
                                    const Tokenizer& tokenizer, const EncodeLimits& limits) {
  Ids ids;
  for (const TemplateSection& section : sections) {
    if (const auto* fixed = std::get_if<Ids>(&section)) {
      ids.insert(ids.end(), fixed->begin(), fixed->end());
      continue;
    }
    const auto& run = std::get<TemplateRun>(section);
    std::string text;
    AddText(run.parts, values, text);
    if (trim) {
      // White space of the message's beginning, which is behind what stands before the state.
      std::size_t begin = 0;
      for (const TemplatePart& part : run.parts) {
        if (!part.is_text()) {
          break;
        }
        begin += part.text.size();
      }
      const std::string_view message = std::string_view(text).substr(begin);
      text.erase(begin, message.size() - WithoutLeadingSpace(message).size());
    }
    Expected<EncodedText, EncodeFault> encoded =
        tokenizer.EncodeWithin(limits.Behind(ids.size()), text, run.options);
    if (!encoded) {
      return Unexpected(encoded.error());
    }
    ids.insert(ids.end(), encoded->ids.begin(), encoded->ids.end());
  }
  return ids;
}

/// The place of a type's labels: the end of `run`, the last one of its prompt.
LabelPlace PlaceOf(const TemplateRun& run, std::string before) {
  LabelPlace place{.options = run.options, .before = std::move(before)};
  if (!run.parts.empty()) {
    const TemplatePart& last = run.parts.back();
    if (last.is_text() && last.condition.empty()) {
      place.tail = last.text;
    }
    if (run.parts.size() > 1 || place.tail.empty()) {
      place.options.at_start = false;
      place.options.behind_token = false;
    }
  }
  return place;
}

/// Removes the space at a text's end, which is a part of the label. Returns it.
std::string TakeLastSpace(TemplateText& text) {
  if (text.empty() || !text.back().is_text() || !text.back().text.ends_with(' ')) {
    return {};
  }
  text.back().text.pop_back();
  return " ";
}

}  // namespace

std::shared_ptr<const Decider> Decider::Make(const DecisionTemplate& from,
                                             const Tokenizer& tokenizer,
                                             const proto::ModelConfig& config, std::string reason,
                                             std::string& why_not) {
  const std::vector<SpecialToken> control_tokens = ControlTokens(tokenizer);
  if (const std::string* missing = MissingToken(from.control_tokens, control_tokens)) {
    why_not = "the vocabulary has no token " + proto::Quoted(*missing);
    return nullptr;
  }
  std::shared_ptr<Decider> decider(new Decider(from, tokenizer, std::move(reason)));
  const auto is_wrong = [&](const SectionsBuilder& builder) {
    if (!builder.greedy_token().empty()) {
      why_not = "the token " + proto::Quoted(builder.greedy_token()) +
                " depends on the text beside it (lstrip, rstrip, single_word)";
    } else if (!builder.conditional_token().empty()) {
      why_not = "the token " + proto::Quoted(builder.conditional_token()) +
                " must not stand between {if …} and {end}";
    }
    return !why_not.empty();
  };
  why_not.clear();
  SectionsBuilder state(tokenizer, control_tokens);
  state.BeginPiece();
  for (const TemplatePart& part : from.state) {
    state.Add(part);
  }
  decider->state_ = state.FinishPrompt();
  if (is_wrong(state)) {
    return nullptr;
  }
  std::array<LabelPlace, 3> places;
  for (const DecisionType type :
       {DecisionType::kNoul, DecisionType::kChoice, DecisionType::kScore}) {
    TemplateText text = from.TextOf(type);
    text.insert(text.end(), from.end.begin(), from.end.end());
    std::string space = TakeLastSpace(text);
    SectionsBuilder builder(tokenizer, control_tokens);
    builder.BeginPiece(/*at_start=*/false);
    for (const TemplatePart& part : text) {
      builder.Add(part);
    }
    decider->questions_[static_cast<std::size_t>(type)] = builder.Finish();
    if (is_wrong(builder)) {
      return nullptr;
    }
    places[static_cast<std::size_t>(type)] = PlaceOf(builder.last_run(), std::move(space));
  }
  std::optional<DecisionLabels> labels =
      DecisionLabels::Make(from, places, tokenizer, config.vocab_size, why_not);
  if (!labels) {
    return nullptr;
  }
  decider->labels_ = *std::move(labels);
  return decider;
}

std::optional<std::string> Decider::Rendered(std::string_view json) const {
  if (from_.json_indent < 0) {
    return std::string(json);
  }
  std::string text;
  std::size_t depth = 0;
  bool in_string = false;
  const auto new_line = [&] {
    text += '\n';
    text.append(depth * static_cast<std::size_t>(from_.json_indent), ' ');
  };
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (text.size() > kMostRenderedBytes) {
      return std::nullopt;
    }
    const char c = json[i];
    if (in_string) {
      text += c;
      if (c == '\\' && i + 1 < json.size()) {
        text += json[++i];
      }
      in_string = c != '"';
      continue;
    }
    if (c == '}' || c == ']') {
      --depth;
      if (json[i - 1] != '{' && json[i - 1] != '[') {
        new_line();
      }
    }
    text += c;
    in_string = c == '"';
    const bool opens = c == '{' || c == '[';
    depth += opens ? 1 : 0;
    if (c == ',' || (opens && i + 1 < json.size() && json[i + 1] != '}' && json[i + 1] != ']')) {
      new_line();
    } else if (c == ':') {
      text += ' ';
    }
  }
  return text;
}

/// The lines of the options.
std::string Decider::OptionsText(const DecisionQuestion& question) const {
  const std::size_t count = question.options.size();
  const std::vector<std::string>& labels = labels_.Texts(question.type, count);
  constexpr std::array<std::string_view, 2> kOutcomes = {"yes", "no"};
  std::string text;
  for (std::size_t line = 0; line < count; ++line) {
    const std::size_t index = question.is_reversed ? count - 1 - line : line;
    const DecisionOption& option = question.options[index];
    const std::string_view description = NotBlank(option.description);
    switch (question.type) {
      case DecisionType::kNoul:
        // A label is the outcome's own, wherever its line stands.
        if (from_.all_outcomes || !description.empty()) {
          AddText(
              from_.outcome,
              {{"label", labels[index]}, {"name", kOutcomes[index]}, {"description", description}},
              text);
        }
        break;
      case DecisionType::kChoice:
        AddText(from_.option,
                {{"label", labels[line]}, {"name", option.name}, {"description", description}},
                text);
        break;
      case DecisionType::kScore:
        AddText(from_.level,
                {{"label", labels[line]},
                 {"index", std::to_string(index)},
                 {"description", option.description}},
                text);
        break;
    }
  }
  return text;
}

Expected<Ids, EncodeFault> Decider::Prefix(std::string_view state,
                                           const EncodeLimits& limits) const {
  return TokensOf(state_, {{"state", state}}, from_.trim, tokenizer_, limits);
}

Expected<Ids, EncodeFault> Decider::Question(const DecisionQuestion& question,
                                             const EncodeLimits& limits) const {
  return TokensOf(
      SectionsOf(question.type),
      {{"instructions", NotBlank(question.instructions)}, {"options", OptionsText(question)}},
      /*trim=*/false, tokenizer_, limits);
}

bool Decider::DependsOnOrder(DecisionQuestion question) const {
  const std::string text = OptionsText(question);
  question.is_reversed = !question.is_reversed;
  return OptionsText(question) != text;
}

std::string Decider::PromptText(std::string_view state, const DecisionQuestion& question) const {
  std::string text;
  AddText(from_.state, {{"state", from_.trim ? WithoutLeadingSpace(state) : state}}, text);
  AddText(from_.TextOf(question.type),
          {{"instructions", NotBlank(question.instructions)}, {"options", OptionsText(question)}},
          text);
  AddText(from_.end, {}, text);
  return text;
}

std::string Decider::Example() const {
  const std::array<DecisionOption, 2> outcomes;
  return PromptText("…", {.type = DecisionType::kNoul, .instructions = "…", .options = outcomes});
}

}  // namespace scorecast::coordinator
