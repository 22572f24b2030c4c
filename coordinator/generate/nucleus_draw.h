#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "coordinator/generate/completion_options.h"
#include "coordinator/generate/token_adjustments.h"
#include "proto/plan/best_draws.h"
#include "proto/plan/mass_bins.h"
#include "proto/plan/packed_sequence.h"
#include "proto/plan/row_logits.h"

namespace scorecast::coordinator {

/// Orders by descending logit, then by ascending id, as the ranks do.
bool IsBetterToken(const TokenLogit& a, const TokenLogit& b);

/// The up to `count` tokens with the largest sums of logit and proto::GumbelNoise(seed, step, id).
/// Only tokens that are better than `end` count.
proto::BestDraws DrawBest(std::span<const TokenLogit> tokens, std::uint64_t seed,
                          std::uint32_t step, std::int32_t count,
                          const std::optional<TokenLogit>& end = std::nullopt);

/// Draws one token of those that `min_p` and `top_p` keep of a whole vocabulary: its nucleus. The
/// ranks draw among all tokens and return their best draws, which nearly always contain a token of
/// the nucleus, and how the probability mass is spread over bins of logits. A token is in the
/// nucleus if the mass of the tokens that are better is below `top_p` of the mass that `min_p`
/// keeps. Where the bins do not tell, the row is read again for the masses before the draws in
/// question, and for draws among the tokens that may be in the nucleus. (Pivots that split the
/// vocabulary instead of a sort: Qrita, arXiv 2602.01518.)
///
/// The tokens of a row are the adjusted ones, whose logits the sampler has, and the others, of
/// which the ranks know.
class NucleusDraw {
 public:
  /// A draw for the token at `step`, which has a seed. The logits are divided by the temperature.
  /// `bin_width`: of the bins that are read, a power of two of at most MassBins::kMostWidth.
  NucleusDraw(const SamplingOptions& options, std::uint32_t step, float bin_width);

  /// The width of a completion's first bins.
  static float FirstBinWidth(double temperature);
  /// The width for the next row of the same completion. The mass of that row is probably spread
  /// like this row's mass, and then covers about half of the bins.
  float NextBinWidth() const { return next_bin_width_; }

  /// Adds what is to be read of the row.
  void Ask(proto::RowRead& read) const;

  /// Takes what was read, and returns the token that is drawn. Returns nothing if more must be
  /// read: see Ask. `adjusted` is sorted by id. `has_others`: tokens that are not adjusted may be
  /// chosen. There is at least one token.
  std::optional<TokenId> Take(const proto::RowLogits& row, std::span<const TokenLogit> adjusted,
                              bool has_others);

 private:
  enum class Verdict { kKept, kLeftOut, kUnknown };
  /// Bounds of a mass, in units of exp(max_).
  struct Mass {
    double least = 0;
    double most = 0;
  };
  /// Knows the logits of the row's tokens as far as they were read.
  struct Row {
    const proto::RowLogits& read;
    std::span<const TokenLogit> adjusted;
    bool has_others = false;

    bool IsAdjusted(TokenId id) const;
  };

  void Begin(const Row& row);
  void ChooseNextWidth(std::size_t used_bins);
  /// Sets adjusted_above_.
  void AddAdjustedBins(const Row& row);
  /// Learns from masses that were asked for.
  void Learn(const Row& row);
  /// Whether the mass is asked for that `min_p` keeps.
  bool AsksForKeptMass() const;
  /// Takes the best draws of adjusted tokens and of others.
  void SetCandidates(const Row& row);
  /// The best candidate that is kept. Candidates that are left out are removed, and the search ends
  /// at one that is unknown.
  std::optional<TokenId> FirstKept(const Row& row);
  Verdict Judge(const Row& row, const proto::DrawnToken& candidate) const;
  /// Finds the place from which on all tokens are left out, as far as min_p and bins tell.
  void FindEnd();
  void LeaveOut(const TokenLogit& place);
  bool IsLeftOut(const TokenLogit& token) const {
    return left_out_ && !IsBetterToken(token, *left_out_);
  }

  /// The mass of the others that are better than a place.
  Mass OthersBefore(const TokenLogit& place) const;
  double AdjustedBefore(const Row& row, const TokenLogit& place) const;
  Mass Before(const Row& row, const TokenLogit& place) const;
  /// Sets the mass that the nucleus must reach, as far as it is known.
  void SetWanted(const Row& row);
  /// The place behind all tokens that `min_p` keeps.
  TokenLogit EndOfMinP() const;

  const double top_p_;
  const double min_p_;
  const std::uint64_t seed_;
  const std::uint32_t step_;
  const float bin_width_;
  float next_bin_width_;

  bool has_begun_ = false;
  double max_ = 0;        ///< The largest logit.
  float others_max_ = 0;  ///< The largest of the others.
  double others_mass_ = 0;
  double adjusted_mass_ = 0;
  std::int32_t highest_bin_ = proto::MassBins::kNone;
  /// [kCount + 1]: the mass of the others in the highest i bins, in units of exp(max_).
  std::vector<double> mass_above_;
  /// The same of adjusted tokens, with those that are better than all bins.
  std::vector<double> adjusted_above_;
  std::optional<double> kept_mass_;  ///< The mass that `min_p` keeps, if it is known.
  Mass wanted_;                      ///< If `top_p` is below 1.
  std::vector<proto::DrawnToken> candidates_;
  std::vector<TokenLogit> asked_;       ///< The places whose masses are asked for.
  std::optional<TokenLogit> kept_;      ///< This token and all better ones are kept.
  std::optional<TokenLogit> left_out_;  ///< This place and all worse ones are left out.
};

}  // namespace scorecast::coordinator
