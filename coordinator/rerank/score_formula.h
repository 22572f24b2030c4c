#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace scorecast::coordinator {

/// Makes a score of the labels' logits: `true` or `true - false`, divided by a number, and put into
/// a sigmoid if the formula has one. Divisor and sigmoid never change the order of scores, but may
/// make different ones equal: a sigmoid rounds to 0 or 1.
class ScoreFormula {
 public:
  /// A classification head of one class, whose logit is `true`: its sigmoid.
  static ScoreFormula OfHead();

  /// Reads "true", "true - false", "(true - false) / 2", "sigmoid(true / 5)"; spaces do not count.
  /// Returns nothing if `text` is none of these.
  static std::optional<ScoreFormula> Parse(std::string_view text);

  /// The formula as Parse reads it.
  std::string Text() const;

  /// The same logits, without divisor, with or without a sigmoid.
  ScoreFormula WithActivation(bool sigmoid) const;
  /// The same activation and divisor, with one label or with two.
  ScoreFormula WithFalse(bool has_false) const;

  /// Whether the logit of the label `false` is subtracted.
  bool has_false() const { return has_false_; }
  bool is_probability() const { return sigmoid_; }

  /// `logits` are those of `true` and, if has_false(), of `false`.
  double Score(std::span<const float> logits) const;
  /// Without sigmoid and divisor: the number by which documents are ordered.
  double RawScore(std::span<const float> logits) const;

 private:
  bool has_false_ = false;
  bool sigmoid_ = false;
  double divisor_ = 1;
};

}  // namespace scorecast::coordinator
