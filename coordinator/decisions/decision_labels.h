#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/decisions/decision_template.h"
#include "coordinator/text/steps/encode_options.h"
#include "coordinator/text/tokenizer.h"
#include "proto/plan/label_list.h"

namespace scorecast::coordinator {

/// The end of a prompt, behind which labels stand.
struct LabelPlace {
  std::string tail;  ///< The text since a place at which the tokenizer is told to cut.
  EncodeOptions options;
  std::string before;  ///< A space, if the prompt's last one is the label's.
};

/// What the model answers with: the labels of each type and number of options, and their tokens.
class DecisionLabels {
 public:
  /// Labels of the template that are exactly one token each in their places, with an id below
  /// `vocab_size`. `why_not` gets one line if a type has too few; the result is then empty.
  static std::optional<DecisionLabels> Make(const DecisionTemplate& from,
                                            const std::array<LabelPlace, 3>& places,
                                            const Tokenizer& tokenizer, std::int64_t vocab_size,
                                            std::string& why_not);

  /// Most options of a choice, levels of a score, and outcomes of a noul.
  std::size_t Most(DecisionType type) const;

  /// The text of each option's label. `options` is at most Most().
  const std::vector<std::string>& Texts(DecisionType type, std::size_t options) const;
  /// The tokens whose logits are read. Lists of the same number of options are the same list.
  const proto::LabelList& Tokens(DecisionType type, std::size_t options) const;
  /// How many of these tokens each label has; empty if each has one.
  const std::vector<std::size_t>& Spellings(DecisionType type) const;

 private:
  struct Alphabet {
    std::vector<std::string> texts;
    std::vector<TokenId> ids;
    std::vector<proto::LabelList> lists;  ///< By number of options, from 0.
  };

  const Alphabet& AlphabetOf(DecisionType type, std::size_t options) const;
  static void MakeLists(std::size_t most, Alphabet& alphabet);

  Alphabet noul_;
  std::vector<std::size_t> spellings_;
  Alphabet letters_;
  Alphabet pairs_;
  Alphabet score_;
};

}  // namespace scorecast::coordinator
