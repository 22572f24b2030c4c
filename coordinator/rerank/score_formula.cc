#include "coordinator/rerank/score_formula.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace scorecast::coordinator {
namespace {

/// Whether `text` begins with `word`, which is then removed.
bool Take(std::string_view& text, std::string_view word) {
  const bool takes = text.starts_with(word);
  text.remove_prefix(takes ? word.size() : 0);
  return takes;
}

std::string WithoutSpaces(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c != ' ') {
      result += c;
    }
  }
  return result;
}

}  // namespace

ScoreFormula ScoreFormula::OfHead() {
  ScoreFormula formula;
  formula.sigmoid_ = true;
  return formula;
}

std::optional<ScoreFormula> ScoreFormula::Parse(std::string_view text) {
  const std::string compact = WithoutSpaces(text);
  std::string_view rest = compact;
  ScoreFormula formula;
  formula.sigmoid_ = Take(rest, "sigmoid(");
  if (formula.sigmoid_) {
    if (!rest.ends_with(')')) {
      return std::nullopt;
    }
    rest.remove_suffix(1);
  }
  const bool is_bracketed = Take(rest, "(");
  if (!Take(rest, "true")) {
    return std::nullopt;
  }
  formula.has_false_ = Take(rest, "-false");
  if (is_bracketed && !Take(rest, ")")) {
    return std::nullopt;
  }
  // "true - false / 2" would divide only one of the logits.
  if ((is_bracketed || !formula.has_false_) && Take(rest, "/")) {
    const auto [end, error] =
        std::from_chars(rest.data(), rest.data() + rest.size(), formula.divisor_);
    if (error != std::errc() || !std::isfinite(formula.divisor_) || formula.divisor_ <= 0) {
      return std::nullopt;
    }
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  }
  return rest.empty() ? std::optional(formula) : std::nullopt;
}

std::string ScoreFormula::Text() const {
  std::string text = has_false_ ? "true - false" : "true";
  if (divisor_ != 1) {
    std::array<char, 32> divisor{};
    std::snprintf(divisor.data(), divisor.size(), "%g", divisor_);
    text = (has_false_ ? "(" + text + ")" : text) + " / " + divisor.data();
  }
  return sigmoid_ ? "sigmoid(" + text + ")" : text;
}

ScoreFormula ScoreFormula::WithActivation(bool sigmoid) const {
  ScoreFormula formula;
  formula.has_false_ = has_false_;
  formula.sigmoid_ = sigmoid;
  return formula;
}

ScoreFormula ScoreFormula::WithFalse(bool has_false) const {
  ScoreFormula formula = *this;
  formula.has_false_ = has_false;
  return formula;
}

double ScoreFormula::Score(std::span<const float> logits) const {
  const double value = RawScore(logits) / divisor_;
  return sigmoid_ ? 1 / (1 + std::exp(-value)) : value;
}

double ScoreFormula::RawScore(std::span<const float> logits) const {
  const double of_true = logits[0];
  return has_false_ ? of_true - static_cast<double>(logits[1]) : of_true;
}

}  // namespace scorecast::coordinator
