#include "coordinator/generate/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <span>
#include <utility>

#include "proto/base/check.h"

namespace scorecast::coordinator {
namespace {

/// If top_p is below kFewTokens, the best tokens are read as well: the nucleus is often among these
/// few, and a token of all is often outside of it.
constexpr double kFewTokens = 0.5;
constexpr std::int64_t kFewRead = 64;
/// More adjusted tokens are not sorted.
constexpr std::size_t kMostSorted = 1024;

/// The logits of up to so many tokens are computed one by one if no other tokens may be chosen. Of
/// more tokens, they are picked out of those of the whole vocabulary.
constexpr std::size_t kMostProducts = 1024;

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

}  // namespace

TokenSampler::TokenSampler(const SamplingOptions& options, std::int64_t vocab_size,
                           TokenAdjustments adjustments)
    : options_(options), vocab_size_(vocab_size), adjustments_(std::move(adjustments)) {
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
    bin_width_ = NucleusDraw::FirstBinWidth(options.temperature);
    read_ = options.top_p < kFewTokens ? std::min(kFewRead, vocab_size) : 0;
  } else {
    candidates_ = Candidates::kAll;
  }
}

proto::RowRead TokenSampler::Wanted(std::uint32_t step) const {
  proto::RowRead read;
  if (adjustments_.excludes_others()) {
    read.normalizer = Labels().size() > kMostProducts;
    read.excludes_labels = read.normalizer;
    return read;
  }
  read.normalizer = true;
  read.temperature = temperature_;
  read.top_k = static_cast<std::int32_t>(read_);
  if (candidates_ == Candidates::kAll) {
    read.draw = proto::Draw{seed_, step};
  }
  if (candidates_ == Candidates::kNucleus) {
    (nucleus_ ? *nucleus_ : NucleusDraw(options_, step, bin_width_)).Ask(read);
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
  switch (candidates_) {
    case Candidates::kBest:
    case Candidates::kTop:
      return ChooseOfBest(row, adjusted, step);
    case Candidates::kAll:
      return DrawOfAll(row, adjusted, step);
    case Candidates::kNucleus:
      break;
  }
  if (!nucleus_) {
    if (read_ > 0 && adjusted.size() <= kMostSorted) {
      if (const auto token = ChooseOfBest(row, adjusted, step)) {
        return token;
      }
    }
    nucleus_.emplace(options_, step, bin_width_);
  }
  const auto token = nucleus_->Take(row, adjusted, !adjustments_.excludes_others());
  if (token) {
    bin_width_ = nucleus_->NextBinWidth();
    nucleus_.reset();
  }
  return token;
}

TokenId TokenSampler::DrawOfAll(const proto::RowLogits& row,
                                const std::vector<TokenLogit>& adjusted, std::uint32_t step) const {
  proto::BestDraws best = DrawBest(adjusted, seed_, step, 1);
  if (!adjustments_.excludes_others()) {
    std::ranges::for_each(row.drawn, [&](const proto::DrawnToken& other) { best.Offer(other); });
  }
  proto::Check(!best.tokens().empty(), "a token may be chosen");
  return best.tokens()[0].id;
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
    const auto most = candidates_ == Candidates::kNucleus ? vocab_size_ : read_;
    const auto end = best.begin() + std::min<std::ptrdiff_t>(most, std::ssize(best));
    std::ranges::partial_sort(best, end, IsBetterToken);
    best.erase(end, best.end());
  }
  proto::Check(!best.empty(), "a token may be chosen");
  if (candidates_ == Candidates::kBest) {
    return best.front().first;
  }
  const double max = best.front().second;
  std::span<const TokenLogit> kept = best;
  if (options_.min_p > 0) {
    const double least = max + std::log(options_.min_p);
    const auto end = std::ranges::partition_point(
        kept, [&](const TokenLogit& token) { return token.second >= least; });
    kept = {kept.begin(), end};
  }
  if (candidates_ == Candidates::kNucleus && options_.min_p > 0 && kept.size() == best.size() &&
      !has_all) {
    return std::nullopt;
  }
  if (options_.top_p < 1) {
    double total = 0;
    if (candidates_ == Candidates::kTop || options_.min_p > 0) {
      total = MassOf(kept, max);
    } else {
      if (!adjustments_.excludes_others()) {
        total = row.sum_exp * std::exp(row.max - max);
      }
      total += MassOf(adjusted, max);
    }
    const std::optional<std::size_t> nucleus = NucleusSize(kept, max, total, options_.top_p);
    // All tokens are always enough, even if rounding makes their mass too small.
    if (!nucleus && candidates_ == Candidates::kNucleus && !has_all) {
      return std::nullopt;
    }
    kept = kept.first(nucleus.value_or(kept.size()));
  }
  return DrawBest(kept, seed_, step, 1).tokens()[0].id;
}

}  // namespace scorecast::coordinator
