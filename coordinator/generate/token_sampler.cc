#include "coordinator/generate/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "proto/base/check.h"
#include "proto/plan/gumbel.h"

namespace scorecast::coordinator {
namespace {

/// Number of best tokens to read first, and the factor by which it grows if their mass is too
/// small.
constexpr std::int64_t kFirstRead = 64;
constexpr std::int64_t kReadFactor = 8;

/// The logits of up to so many tokens are computed one by one if no other tokens may be chosen. Of
/// more tokens, they are picked out of those of the whole vocabulary.
constexpr std::size_t kMostProducts = 1024;

/// Orders by descending logit, then by ascending id, as the ranks do.
bool IsBetterToken(const TokenLogit& a, const TokenLogit& b) {
  return a.second != b.second ? a.second > b.second : a.first < b.first;
}

double MassOf(std::span<const TokenLogit> tokens, double max) {
  double mass = 0;
  for (const auto& [id, logit] : tokens) {
    mass += std::exp(logit - max);
  }
  return mass;
}

/// Number of the best `tokens` whose mass reaches `top_p` of `total`; nothing if all of them
/// together do not reach it. Masses are sums of exp(logit - max). They are added up from the best
/// token on, so that the result does not depend on the number of tokens given.
std::optional<std::size_t> NucleusSize(std::span<const TokenLogit> tokens, double max, double total,
                                       double top_p) {
  double mass = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    mass += std::exp(tokens[i].second - max);
    if (mass >= top_p * total) {
      return i + 1;
    }
  }
  return std::nullopt;
}

/// The token with the largest sum of logit and noise, and that sum. Among equal values the smallest
/// id wins, as on the ranks.
class Drawing {
 public:
  Drawing(std::uint64_t seed, std::uint32_t step) : seed_(seed), step_(step) {}

  void Offer(TokenId id, double sum) { best_ = std::max(best_, {sum, -id}); }
  void Draw(std::span<const TokenLogit> tokens) {
    for (const auto& [id, logit] : tokens) {
      Offer(id, logit + proto::GumbelNoise(seed_, step_, id));
    }
  }
  TokenId drawn() const { return -best_.second; }

 private:
  const std::uint64_t seed_;
  const std::uint32_t step_;
  std::pair<double, TokenId> best_ = {-std::numeric_limits<double>::infinity(), 0};
};

}  // namespace

TokenSampler::TokenSampler(const SamplingOptions& options, std::int64_t vocab_size,
                           TokenAdjustments adjustments)
    : top_p_(options.top_p),
      min_p_(options.min_p),
      vocab_size_(vocab_size),
      adjustments_(std::move(adjustments)) {
  if (options.is_greedy()) {
    candidates_ = Candidates::kBest;
    read_ = 1;
    return;
  }
  proto::Check(options.seed.has_value(), "a completion that is sampled has a seed");
  seed_ = *options.seed;
  temperature_ = static_cast<float>(options.temperature);
  if (options.top_k > 0 && options.top_k < vocab_size) {
    candidates_ = Candidates::kTop;
    read_ = options.top_k;
  } else if (options.top_p < 1 || options.min_p > 0) {
    candidates_ = Candidates::kNucleus;
    read_ = std::min(kFirstRead, vocab_size);
  } else {
    candidates_ = Candidates::kAll;
  }
}

proto::RowRead TokenSampler::Wanted(std::uint32_t step) const {
  proto::RowRead read;
  if (adjustments_.excludes_others()) {
    read.normalizer = Labels().size() > kMostProducts;
    return read;
  }
  read.normalizer = true;
  read.temperature = temperature_;
  read.top_k = static_cast<std::int32_t>(read_);
  if (candidates_ == Candidates::kAll) {
    read.draw = proto::Draw{seed_, step};
  }
  read.excludes_labels = !Labels().empty();
  return read;
}

std::optional<TokenId> TokenSampler::Take(const proto::RowLogits& row, std::uint32_t step) {
  std::vector<double> logits;
  // A caller's read may have labels of its own if none are adjusted.
  if (!Labels().empty()) {
    logits.assign(row.label_logits.begin(), row.label_logits.end());
  }
  if (adjustments_.excludes_others()) {
    std::ranges::transform(logits, logits.begin(),
                           [&](double logit) { return logit / temperature_; });
  }
  const std::optional<TokenId> token = Choose(row, adjustments_.Adjust(logits, temperature_), step);
  if (token) {
    adjustments_.Add(*token);
  }
  return token;
}

std::optional<TokenId> TokenSampler::Choose(const proto::RowLogits& row,
                                            const std::vector<TokenLogit>& adjusted,
                                            std::uint32_t step) {
  if (candidates_ != Candidates::kAll) {
    return ChooseOfBest(row, adjusted, step);
  }
  Drawing drawing(seed_, step);
  drawing.Draw(adjusted);
  if (row.drawn.first >= 0) {
    drawing.Offer(row.drawn.first, row.drawn.second);
  }
  return drawing.drawn();
}

bool TokenSampler::HasAll(const proto::RowLogits& row) const {
  return adjustments_.excludes_others() ||
         std::cmp_greater_equal(row.top.size() + Labels().size(), vocab_size_);
}

std::optional<TokenId> TokenSampler::ChooseOfBest(const proto::RowLogits& row,
                                                  const std::vector<TokenLogit>& adjusted,
                                                  std::uint32_t step) {
  const bool has_all = HasAll(row);
  std::vector<TokenLogit> best;
  if (!adjustments_.excludes_others()) {
    best.assign(row.top.begin(), row.top.end());
  }
  if (!adjusted.empty()) {
    // A token that is worse than all that were read may be worse than others as well.
    std::ranges::copy_if(adjusted, std::back_inserter(best), [&](const TokenLogit& token) {
      return has_all || IsBetterToken(token, row.top.back());
    });
    std::ranges::sort(best, IsBetterToken);
  }
  proto::Check(!best.empty(), "a token may be chosen");
  if (candidates_ == Candidates::kBest) {
    return best.front().first;
  }
  const double max = best.front().second;
  std::span<const TokenLogit> kept = best;
  if (min_p_ > 0) {
    const double least = max + std::log(min_p_);
    const auto end = std::ranges::partition_point(
        kept, [&](const TokenLogit& token) { return token.second >= least; });
    kept = {kept.begin(), end};
  }
  if (candidates_ == Candidates::kTop) {
    kept = kept.first(std::min(kept.size(), static_cast<std::size_t>(read_)));
  } else if (min_p_ > 0 && kept.size() == best.size() && !has_all) {
    ReadOn();
    return std::nullopt;
  }
  if (top_p_ < 1) {
    double total = 0;
    if (candidates_ == Candidates::kTop || min_p_ > 0) {
      total = MassOf(kept, max);
    } else {
      if (!adjustments_.excludes_others()) {
        total = row.sum_exp * std::exp(row.max - max);
      }
      total += MassOf(adjusted, max);
    }
    const std::optional<std::size_t> nucleus = NucleusSize(kept, max, total, top_p_);
    // All tokens are always enough, even if rounding makes their mass too small.
    if (!nucleus && candidates_ == Candidates::kNucleus && !has_all) {
      ReadOn();
      return std::nullopt;
    }
    kept = kept.first(nucleus.value_or(kept.size()));
  }
  Drawing drawing(seed_, step);
  drawing.Draw(kept);
  return drawing.drawn();
}

void TokenSampler::ReadOn() { read_ = std::min(read_ * kReadFactor, vocab_size_); }

}  // namespace scorecast::coordinator
