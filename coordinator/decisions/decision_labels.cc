#include "coordinator/decisions/decision_labels.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "proto/base/one_line.h"

namespace scorecast::coordinator {
namespace {

using proto::Quoted;

/// Finds the tokens of labels in a place.
class LabelFinder {
 public:
  LabelFinder(const LabelPlace& place, const Tokenizer& tokenizer, std::int64_t vocab_size)
      : place_(place),
        tokenizer_(tokenizer),
        vocab_size_(vocab_size),
        tail_(tokenizer.Encode(place.tail, place.options)) {}

  /// The token by which the label makes the tail longer; nothing if it is not exactly one.
  std::optional<TokenId> Find(std::string_view label) const {
    std::string text = place_.tail + place_.before;
    text += label;
    const std::vector<TokenId> ids = tokenizer_.Encode(text, place_.options);
    const bool is_one = ids.size() == tail_.size() + 1 &&
                        std::equal(tail_.begin(), tail_.end(), ids.begin()) &&
                        ids.back() < vocab_size_;
    return is_one ? std::optional(ids.back()) : std::nullopt;
  }

 private:
  const LabelPlace& place_;
  const Tokenizer& tokenizer_;
  const std::int64_t vocab_size_;
  const std::vector<TokenId> tail_;
};

const LabelPlace& PlaceOf(const std::array<LabelPlace, 3>& places, DecisionType type) {
  return places[static_cast<std::size_t>(type)];
}

}  // namespace

std::optional<DecisionLabels> DecisionLabels::Make(const DecisionTemplate& from,
                                                   const std::array<LabelPlace, 3>& places,
                                                   const Tokenizer& tokenizer,
                                                   std::int64_t vocab_size, std::string& why_not) {
  const auto finder = [&](DecisionType type) {
    return LabelFinder(PlaceOf(places, type), tokenizer, vocab_size);
  };
  DecisionLabels labels;
  const LabelFinder of_noul = finder(DecisionType::kNoul);
  for (const std::vector<std::string>& spellings : from.noul_labels) {
    const std::size_t before = labels.noul_.ids.size();
    for (const std::string& spelling : spellings) {
      const std::optional<TokenId> id = of_noul.Find(spelling);
      if (id && std::ranges::find(labels.noul_.ids, *id) == labels.noul_.ids.end()) {
        labels.noul_.ids.push_back(*id);
      }
    }
    if (labels.noul_.ids.size() == before) {
      why_not = "the label " + Quoted(spellings.front()) +
                " of a noul is no single token of its own behind the prompt";
      return std::nullopt;
    }
    labels.noul_.texts.push_back(spellings.front());
    labels.spellings_.push_back(labels.noul_.ids.size() - before);
  }
  labels.noul_.lists.assign(3, proto::LabelList(labels.noul_.ids));

  // Adds the labels that are single tokens. Returns the first one that is none.
  const auto add = [&](DecisionType type, const std::vector<std::string>& texts,
                       Alphabet& alphabet) -> std::string {
    const LabelFinder of_type = finder(type);
    std::unordered_set<TokenId> seen;
    std::string first_fault;
    for (const std::string& text : texts) {
      const std::optional<TokenId> id = of_type.Find(text);
      if (id && seen.insert(*id).second) {
        alphabet.texts.push_back(text);
        alphabet.ids.push_back(*id);
      } else if (first_fault.empty()) {
        first_fault = text;
      }
    }
    return first_fault;
  };
  if (const std::string fault = add(DecisionType::kChoice, from.choice_labels, labels.letters_);
      !fault.empty()) {
    why_not = "the label " + Quoted(fault) + " of a choice is no single token behind the prompt";
    return std::nullopt;
  }
  MakeLists(kMaxLetters, labels.letters_);
  add(DecisionType::kChoice, from.many_labels, labels.pairs_);
  MakeLists(kMaxOptions, labels.pairs_);
  for (const std::vector<std::string>& texts : from.score_labels) {
    Alphabet alphabet;
    const std::string fault = add(DecisionType::kScore, texts, alphabet);
    if (fault.empty()) {
      labels.score_ = std::move(alphabet);
      MakeLists(kMaxLevels, labels.score_);
      return labels;
    }
    why_not = "the label " + Quoted(fault) + " of a score is no single token behind the prompt";
  }
  return std::nullopt;
}

void DecisionLabels::MakeLists(std::size_t most, Alphabet& alphabet) {
  most = std::min(most, alphabet.ids.size());
  alphabet.texts.resize(most);
  for (std::size_t count = 0; count <= most; ++count) {
    alphabet.lists.emplace_back(std::vector<TokenId>(
        alphabet.ids.begin(), alphabet.ids.begin() + static_cast<std::ptrdiff_t>(count)));
  }
}

const DecisionLabels::Alphabet& DecisionLabels::AlphabetOf(DecisionType type,
                                                           std::size_t options) const {
  switch (type) {
    case DecisionType::kNoul:
      return noul_;
    case DecisionType::kScore:
      return score_;
    case DecisionType::kChoice:
      break;
  }
  return options < letters_.lists.size() ? letters_ : pairs_;
}

std::size_t DecisionLabels::Most(DecisionType type) const {
  switch (type) {
    case DecisionType::kNoul:
      return 2;
    case DecisionType::kScore:
      return score_.texts.size();
    case DecisionType::kChoice:
      break;
  }
  return std::max(letters_.texts.size(), pairs_.texts.size());
}

const std::vector<std::string>& DecisionLabels::Texts(DecisionType type,
                                                      std::size_t options) const {
  return AlphabetOf(type, options).texts;
}

const proto::LabelList& DecisionLabels::Tokens(DecisionType type, std::size_t options) const {
  return AlphabetOf(type, options).lists.at(options);
}

const std::vector<std::size_t>& DecisionLabels::Spellings(DecisionType type) const {
  static const std::vector<std::size_t> one_each;
  return type == DecisionType::kNoul ? spellings_ : one_each;
}

}  // namespace scorecast::coordinator
