#include "coordinator/generate/nucleus_draw.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "proto/base/check.h"
#include "proto/plan/gumbel.h"

namespace scorecast::coordinator {
namespace {

using proto::BestDraws;
using proto::DrawnToken;
using proto::MassBins;
using proto::PlaceMasses;
using proto::TokenPlace;

constexpr TokenId kLastId = std::numeric_limits<TokenId>::max();

/// The relative error of masses of bins, and of the row's whole mass, is far below this: they are
/// sums of exponentials in float32.
constexpr double kBinError = 1e-5;
/// So many candidates are asked for at once: if the first is left out, the second is mostly kept.
constexpr std::size_t kAsked = 2;
static_assert(kAsked + 1 <= PlaceMasses::kMostPlaces, "and min_p asks for a further place");
/// More mass below the lowest bin means that the bins are too narrow.
constexpr double kCutMass = 1e-3;

/// Whether the tokens with this mass are all that are kept, so that the next one is left out. The
/// best token is always kept.
bool Reaches(double mass, double wanted) { return mass > 0 && mass >= wanted; }

/// The ranks' place before which the same tokens stand.
TokenPlace PlaceOf(const TokenLogit& place) {
  auto logit = static_cast<float>(place.second);
  if (double{logit} == place.second) {
    return {logit, place.first};
  }
  if (double{logit} < place.second) {
    logit = std::nextafter(logit, std::numeric_limits<float>::max());
  }
  return {logit, kLastId};  // The float above is better than the place, whatever the id.
}

TokenLogit LogitOf(const DrawnToken& token) { return {token.id, token.logit}; }

}  // namespace

bool IsBetterToken(const TokenLogit& a, const TokenLogit& b) {
  return a.second != b.second ? a.second > b.second : a.first < b.first;
}

BestDraws DrawBest(std::span<const TokenLogit> tokens, std::uint64_t seed, std::uint32_t step,
                   std::int32_t count, const std::optional<TokenLogit>& end) {
  BestDraws best(count);
  for (const TokenLogit& token : tokens) {
    if (end && !IsBetterToken(token, *end)) {
      continue;
    }
    const auto [id, logit] = token;
    const double uniform = proto::GumbelUniform(seed, step, id);
    // The noise -ln(-ln u) is at least t only if 1 - u <= -ln u <= exp(-t). The margin is larger
    // than rounding errors.
    if (best.is_full() && 1 - uniform > std::exp(logit - best.least()) * (1 + 1e-9)) {
      continue;
    }
    best.Offer({id, logit, logit + proto::GumbelOf(uniform)});
  }
  return best;
}

bool NucleusDraw::Row::IsAdjusted(TokenId id) const {
  return std::ranges::binary_search(adjusted, id, {}, &TokenLogit::first);
}

NucleusDraw::NucleusDraw(const SamplingOptions& options, std::uint32_t step, float bin_width)
    : top_p_(options.top_p),
      min_p_(options.min_p),
      seed_(options.seed.value()),
      step_(step),
      bin_width_(bin_width),
      next_bin_width_(bin_width) {}

float NucleusDraw::FirstBinWidth(double temperature) {
  // The greatest width before the division, rounded down, and at most that after it.
  constexpr double kMostBits = 116;
  const double bits = std::ceil(std::log2(std::max(temperature, 1.0)));
  return std::ldexp(MassBins::kMostWidth, -static_cast<int>(std::min(bits, kMostBits)));
}

void NucleusDraw::ChooseNextWidth(std::size_t used_bins) {
  constexpr std::size_t kWanted = MassBins::kCount / 2;
  const bool is_cut = mass_above_.back() < (1 - kCutMass) * others_mass_;
  if (is_cut) {
    next_bin_width_ = std::min(4 * bin_width_, MassBins::kMostWidth);
  } else if (2 * used_bins <= kWanted) {
    // Bins are much wider than the last place of a logit.
    const float narrowest =
        std::ldexp(1.0F, std::ilogb(std::max(std::abs(others_max_), 1e-30F)) - 20);
    const auto factor =
        static_cast<float>(std::bit_floor(kWanted / std::max<std::size_t>(used_bins, 1)));
    next_bin_width_ = std::max(bin_width_ / factor, std::min(narrowest, bin_width_));
  }
}

void NucleusDraw::Ask(proto::RowRead& read) const {
  proto::Draw draw = {.seed = seed_, .step = step_, .count = proto::Draw::kMostTokens};
  if (!has_begun_) {
    read.bin_width = top_p_ < 1 ? bin_width_ : 0;
  } else {
    if (left_out_) {
      draw.end = PlaceOf(*left_out_);
    }
    read.masses.max = others_max_;
    read.masses.places.clear();
    for (const TokenLogit& place : asked_) {
      read.masses.places.push_back(PlaceOf(place));
    }
  }
  read.draw = draw;
}

std::optional<TokenId> NucleusDraw::Take(const proto::RowLogits& read,
                                         std::span<const TokenLogit> adjusted, bool has_others) {
  const Row row = {read, adjusted, has_others && read.sum_exp > 0};
  if (has_begun_) {
    Learn(row);
  } else {
    Begin(row);
  }
  for (bool is_read_used = false;;) {
    if (candidates_.empty()) {
      if (is_read_used && row.has_others) {
        break;  // Draws among better tokens are needed.
      }
      SetCandidates(row);
      is_read_used = true;
    }
    if (const auto token = FirstKept(row)) {
      return token;
    }
    FindEnd();
    if (!candidates_.empty()) {
      break;  // The bins do not tell whether the best of them is kept.
    }
  }
  for (const DrawnToken& candidate :
       std::span(candidates_).first(std::min(candidates_.size(), kAsked))) {
    asked_.push_back(LogitOf(candidate));
  }
  if (AsksForKeptMass()) {
    asked_.push_back(EndOfMinP());
  }
  return std::nullopt;
}

void NucleusDraw::Begin(const Row& row) {
  has_begun_ = true;
  max_ = -std::numeric_limits<double>::infinity();
  for (const TokenLogit& token : row.adjusted) {
    max_ = std::max(max_, token.second);
  }
  if (row.has_others) {
    others_max_ = row.read.max;
    max_ = std::max(max_, double{others_max_});
    others_mass_ = row.read.sum_exp * std::exp(others_max_ - max_);
  }
  proto::Check(std::isfinite(max_), "a token may be chosen");
  if (top_p_ >= 1) {
    return;
  }
  for (const TokenLogit& token : row.adjusted) {
    adjusted_mass_ += std::exp(token.second - max_);
  }
  const MassBins& bins = row.read.mass_bins;
  // The outermost bins, which hold all logits beyond them, tell nothing.
  if (row.has_others && bins.highest < MassBins::kMostBin &&
      bins.highest > std::ssize(bins.masses) - MassBins::kMostBin) {
    highest_bin_ = bins.highest;
    mass_above_.push_back(0);
    std::size_t used_bins = 0;
    for (std::size_t i = 0; i < bins.masses.size(); ++i) {
      const double lowest_logit = (bins.highest - static_cast<double>(i)) * double{bin_width_};
      mass_above_.push_back(mass_above_.back() +
                            std::ldexp(static_cast<double>(bins.masses[i]), -MassBins::kUnitBits) *
                                std::exp(lowest_logit - max_));
      used_bins = bins.masses[i] > 0 ? i + 1 : used_bins;
    }
    ChooseNextWidth(used_bins);
    AddAdjustedBins(row);
  }
  SetWanted(row);
}

void NucleusDraw::AddAdjustedBins(const Row& row) {
  adjusted_above_.assign(mass_above_.size(), 0);
  for (const auto& [id, logit] : row.adjusted) {
    const double bins = std::max(highest_bin_ + 1 - std::floor(logit / bin_width_), 0.0);
    if (bins < static_cast<double>(adjusted_above_.size())) {
      adjusted_above_[static_cast<std::size_t>(bins)] += std::exp(logit - max_);
    }
  }
  std::partial_sum(adjusted_above_.begin(), adjusted_above_.end(), adjusted_above_.begin());
}

bool NucleusDraw::AsksForKeptMass() const { return min_p_ > 0 && top_p_ < 1 && !kept_mass_; }

void NucleusDraw::Learn(const Row& row) {
  proto::Check(row.read.masses.size() == asked_.size(), "all masses are read that are asked for");
  const double unit = std::ldexp(std::exp(others_max_ - max_), -PlaceMasses::kUnitBits);
  const auto before = [&](std::size_t i) {
    return static_cast<double>(row.read.masses[i]) * unit + AdjustedBefore(row, asked_[i]);
  };
  if (AsksForKeptMass()) {
    kept_mass_ = before(asked_.size() - 1);
    asked_.pop_back();
    SetWanted(row);
  }
  for (std::size_t i = 0; i < asked_.size(); ++i) {
    if (!Reaches(before(i), wanted_.least)) {
      kept_ = !kept_ || IsBetterToken(*kept_, asked_[i]) ? asked_[i] : *kept_;
    } else {
      LeaveOut(asked_[i]);
    }
  }
  asked_.clear();
}

void NucleusDraw::SetCandidates(const Row& row) {
  constexpr std::int32_t kCount = proto::Draw::kMostTokens;
  const BestDraws adjusted = DrawBest(row.adjusted, seed_, step_, kCount, left_out_);
  candidates_.assign(adjusted.tokens().begin(), adjusted.tokens().end());
  // A token with a smaller sum may be worse than a token that its list left out.
  double least = adjusted.least();
  if (row.has_others) {
    const std::vector<DrawnToken>& drawn = row.read.drawn;
    candidates_.insert(candidates_.end(), drawn.begin(), drawn.end());
    least = std::ssize(drawn) == kCount ? std::max(least, drawn.back().sum) : least;
  }
  std::erase_if(candidates_, [&](const DrawnToken& candidate) {
    return candidate.sum < least || IsLeftOut(LogitOf(candidate));
  });
  std::ranges::sort(candidates_, &proto::IsDrawnBefore);
  candidates_.resize(std::min<std::size_t>(candidates_.size(), kCount));
}

std::optional<TokenId> NucleusDraw::FirstKept(const Row& row) {
  while (!candidates_.empty()) {
    const DrawnToken& best = candidates_.front();
    switch (Judge(row, best)) {
      case Verdict::kKept:
        return best.id;
      case Verdict::kLeftOut:
        LeaveOut(LogitOf(best));
        break;
      case Verdict::kUnknown:
        return std::nullopt;
    }
    std::erase_if(candidates_, [&](const DrawnToken& other) { return IsLeftOut(LogitOf(other)); });
  }
  return std::nullopt;
}

NucleusDraw::Verdict NucleusDraw::Judge(const Row& row, const DrawnToken& candidate) const {
  const TokenLogit token = LogitOf(candidate);
  if (IsLeftOut(token) || (min_p_ > 0 && !IsBetterToken(token, EndOfMinP()))) {
    return Verdict::kLeftOut;
  }
  if (top_p_ >= 1 || (kept_ && !IsBetterToken(*kept_, token))) {
    return Verdict::kKept;
  }
  Mass before = Before(row, token);
  if (before.least == before.most && wanted_.least == wanted_.most) {
    return Reaches(before.least, wanted_.least) ? Verdict::kLeftOut : Verdict::kKept;
  }
  if (!row.IsAdjusted(token.first)) {  // It is in its bin itself, and often alone.
    before.most = std::max(before.most - std::exp(token.second - max_), before.least);
  }
  if (before.most * (1 + kBinError) < wanted_.least * (1 - kBinError)) {
    return Verdict::kKept;
  }
  return before.least * (1 - kBinError) > wanted_.most * (1 + kBinError) ? Verdict::kLeftOut
                                                                         : Verdict::kUnknown;
}

void NucleusDraw::FindEnd() {
  if (min_p_ > 0) {
    LeaveOut(EndOfMinP());
  }
  if (top_p_ >= 1 || mass_above_.empty()) {
    return;
  }
  // The fewest of the highest bins that have what is wanted.
  for (std::size_t bins = 0; bins < mass_above_.size(); ++bins) {
    if (mass_above_[bins] * (1 - kBinError) + adjusted_above_[bins] >
        wanted_.most * (1 + kBinError)) {
      LeaveOut({kLastId, (highest_bin_ + 1 - static_cast<double>(bins)) * bin_width_});
      return;
    }
  }
}

void NucleusDraw::LeaveOut(const TokenLogit& place) {
  if (!left_out_ || IsBetterToken(place, *left_out_)) {
    left_out_ = place;
  }
}

NucleusDraw::Mass NucleusDraw::OthersBefore(const TokenLogit& place) const {
  if (mass_above_.empty()) {
    return {0, others_mass_};
  }
  const double bins_above = highest_bin_ - std::floor(place.second / bin_width_);
  if (bins_above < 0) {
    return {0, 0};
  }
  const auto last = mass_above_.size() - 1;
  if (bins_above >= static_cast<double>(last)) {
    return {mass_above_[last], std::max(mass_above_[last], others_mass_)};
  }
  const auto bins = static_cast<std::size_t>(bins_above);
  return {mass_above_[bins], mass_above_[bins + 1]};
}

double NucleusDraw::AdjustedBefore(const Row& row, const TokenLogit& place) const {
  double mass = 0;
  for (const TokenLogit& token : row.adjusted) {
    mass += IsBetterToken(token, place) ? std::exp(token.second - max_) : 0;
  }
  return mass;
}

NucleusDraw::Mass NucleusDraw::Before(const Row& row, const TokenLogit& place) const {
  Mass mass = OthersBefore(place);
  const double adjusted = AdjustedBefore(row, place);
  mass.least += adjusted;
  mass.most += adjusted;
  return mass;
}

void NucleusDraw::SetWanted(const Row& row) {
  const double whole = others_mass_ + adjusted_mass_;
  Mass all = {whole, whole};
  if (kept_mass_) {
    all = {*kept_mass_, *kept_mass_};
  } else if (min_p_ > 0) {
    all = Before(row, EndOfMinP());
  }
  wanted_ = {top_p_ * all.least, top_p_ * all.most};
}

TokenLogit NucleusDraw::EndOfMinP() const { return {kLastId, max_ + std::log(min_p_)}; }

}  // namespace scorecast::coordinator
