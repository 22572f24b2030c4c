#include "coordinator/generate/token_adjustments.h"

#include <algorithm>
#include <iterator>

#include "proto/base/check.h"

namespace scorecast::coordinator {
namespace {

/// Finds ids in a list that is sorted by id, if the ids are looked up in their order.
template <typename Entry>
class Ascending {
 public:
  explicit Ascending(std::span<const Entry> entries) : rest_(entries) {}

  /// The entry of an id, or null.
  const Entry* Find(TokenId id) {
    while (!rest_.empty() && IdOf(rest_.front()) < id) {
      rest_ = rest_.subspan(1);
    }
    return !rest_.empty() && IdOf(rest_.front()) == id ? &rest_.front() : nullptr;
  }

 private:
  static TokenId IdOf(TokenId id) { return id; }
  template <typename Value>
  static TokenId IdOf(const std::pair<TokenId, Value>& entry) {
    return entry.first;
  }

  std::span<const Entry> rest_;
};

/// The ids of both lists. All of these are sorted, and have no id twice.
proto::LabelList Union(const proto::LabelList& list, std::vector<TokenId> more) {
  std::erase_if(more, [&](TokenId id) { return std::ranges::binary_search(list, id); });
  if (more.empty()) {
    return list;
  }
  std::vector<TokenId> all;
  all.reserve(list.size() + more.size());
  std::ranges::merge(list, more, std::back_inserter(all));
  return all;
}

}  // namespace

void SortIds(std::vector<TokenId>& ids) {
  std::ranges::sort(ids);
  ids.erase(std::ranges::unique(ids).begin(), ids.end());
}

TokenAdjustments::TokenAdjustments(AdjustmentOptions options)
    : options_(std::make_shared<const AdjustmentOptions>(std::move(options))) {
  SetLasting();
}

TokenAdjustments TokenAdjustments::WithPrompt(proto::LabelList prompt) const {
  TokenAdjustments adjustments = *this;
  adjustments.prompt_ = std::move(prompt);
  adjustments.SetLasting();
  return adjustments;
}

void TokenAdjustments::SetLasting() {
  if (excludes_others()) {
    lasting_ = options_->allowed;
    tokens_ = lasting_;
    return;
  }
  std::vector<TokenId> ids;
  for (const auto& [id, bias] : options_->logit_bias) {
    ids.push_back(id);
  }
  for (const std::vector<TokenId>& word : options_->bad_words) {
    ids.push_back(word.back());
  }
  SortIds(ids);
  lasting_ = Union(prompt_, std::move(ids));
  SetTokens();
}

void TokenAdjustments::SetTokens() {
  std::vector<TokenId> ids;
  if (!excludes_others()) {
    if (!may_end()) {
      ids = options_->end_ids;
    }
    for (const auto& [id, count] : counts_) {
      ids.push_back(id);
    }
    SortIds(ids);
  }
  tokens_ = Union(lasting_, std::move(ids));
}

std::vector<TokenId> TokenAdjustments::Forbidden() const {
  std::vector<TokenId> forbidden;
  for (const std::vector<TokenId>& word : options_->bad_words) {
    const std::span<const TokenId> before = std::span(word).first(word.size() - 1);
    const std::span<const TokenId> generated = generated_;
    if (before.size() <= generated.size() &&
        std::ranges::equal(before, generated.last(before.size()))) {
      forbidden.push_back(word.back());
    }
  }
  if (!may_end()) {
    forbidden.insert(forbidden.end(), options_->end_ids.begin(), options_->end_ids.end());
  }
  std::ranges::sort(forbidden);
  return forbidden;
}

std::vector<TokenLogit> TokenAdjustments::Adjust(std::span<const double> logits,
                                                 double temperature) const {
  proto::Check(logits.size() == tokens_.size(), "all adjusted tokens are read");
  const std::vector<TokenId> forbidden_ids = Forbidden();
  Ascending<TokenId> forbidden(forbidden_ids);
  Ascending<TokenId> prompt(prompt_.ids());
  Ascending<std::pair<TokenId, double>> biases(options_->logit_bias);
  Ascending<std::pair<TokenId, std::int64_t>> counts(counts_);
  const double repetition = options_->repetition_penalty;
  std::vector<TokenLogit> adjusted;
  adjusted.reserve(tokens_.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const TokenId id = tokens_[i];
    if (forbidden.Find(id) != nullptr) {
      continue;
    }
    double logit = logits[i];
    if (const auto* bias = biases.Find(id)) {
      logit += bias->second / temperature;
    }
    const auto* count = counts.Find(id);
    if (count != nullptr || prompt.Find(id) != nullptr) {
      logit = logit > 0 ? logit / repetition : logit * repetition;
    }
    if (count != nullptr) {
      logit -= (options_->frequency_penalty * static_cast<double>(count->second) +
                options_->presence_penalty) /
               temperature;
    }
    adjusted.emplace_back(id, logit);
  }
  return adjusted;
}

void TokenAdjustments::Add(TokenId token) {
  const bool could_end = may_end();
  ++num_generated_;
  if (!options_->bad_words.empty()) {
    generated_.push_back(token);
  }
  bool is_new = false;
  if (has_penalties()) {
    const auto place =
        std::ranges::lower_bound(counts_, token, {}, &std::pair<TokenId, std::int64_t>::first);
    is_new = place == counts_.end() || place->first != token;
    if (is_new) {
      counts_.insert(place, {token, 1});
    } else {
      ++place->second;
    }
  }
  if ((is_new && !std::ranges::binary_search(tokens_, token)) || could_end != may_end()) {
    SetTokens();
  }
}

}  // namespace scorecast::coordinator
