#include "coordinator/generate/token_sampler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
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

/// Number of the best `tokens` whose mass reaches `top_p` of `total`; nothing if all of them
/// together do not reach it. Masses are sums of exp(logit - max). They are added up from the best
/// token on, so that the result does not depend on the number of tokens given.
std::optional<std::size_t> NucleusSize(std::span<const std::pair<TokenId, float>> tokens, float max,
                                       double total, double top_p) {
  double mass = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    mass += std::exp(double{tokens[i].second} - max);
    if (mass >= top_p * total) {
      return i + 1;
    }
  }
  return std::nullopt;
}

}  // namespace

TokenSampler::TokenSampler(const SamplingOptions& options, std::int64_t vocab_size)
    : top_p_(options.top_p), vocab_size_(vocab_size) {
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
  } else if (options.top_p < 1) {
    candidates_ = Candidates::kNucleus;
    read_ = std::min(kFirstRead, vocab_size);
  } else {
    candidates_ = Candidates::kAll;
  }
}

proto::RowRead TokenSampler::Wanted(std::uint32_t step) const {
  proto::RowRead read;
  read.normalizer = true;
  read.temperature = temperature_;
  read.top_k = static_cast<std::int32_t>(read_);
  if (candidates_ == Candidates::kAll) {
    read.draw = proto::Draw{seed_, step};
  }
  return read;
}

std::optional<TokenId> TokenSampler::Take(const proto::RowLogits& row, std::uint32_t step) {
  switch (candidates_) {
    case Candidates::kBest:
      return row.top.front().first;
    case Candidates::kAll:
      return row.drawn.first;
    case Candidates::kTop:
    case Candidates::kNucleus:
      break;
  }
  std::size_t size = row.top.size();
  if (top_p_ < 1) {
    double total = row.sum_exp;
    if (candidates_ == Candidates::kTop) {
      total = 0;
      for (const auto& [id, logit] : row.top) {
        total += std::exp(double{logit} - row.max);
      }
    }
    const std::optional<std::size_t> nucleus = NucleusSize(row.top, row.max, total, top_p_);
    // The whole vocabulary is always enough, even if rounding makes its mass too small.
    if (!nucleus && candidates_ == Candidates::kNucleus && read_ < vocab_size_) {
      read_ = std::min(read_ * kReadFactor, vocab_size_);
      return std::nullopt;
    }
    size = nucleus.value_or(size);
  }
  // Among equal values the smallest id wins, as on the ranks.
  std::pair<double, TokenId> best = {-std::numeric_limits<double>::infinity(), 0};
  for (const auto& [id, logit] : std::span(row.top).first(size)) {
    best = std::max(best, {logit + proto::GumbelNoise(seed_, step, id), -id});
  }
  return -best.second;
}

}  // namespace scorecast::coordinator
