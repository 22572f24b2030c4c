#include "launcher/cost/cost_rates.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <vector>

#include "coordinator/schedule/pass/nonnegative_minimum.h"
#include "launcher/cost/pass_share.h"
#include "launcher/cost/wire.h"

namespace scorecast::launcher {
namespace {

using coordinator::kUnknowns;
using coordinator::UnknownsMatrix;
using coordinator::UnknownsVector;

/// The weight of the wish that rates are small, relative to that of a pass. It decides only what
/// the passes leave open.
constexpr double kSmallRates = 1e-6;

/// A phase of some passes: units of each kind, and the seconds that they took together.
class FittedPhase {
 public:
  /// `of_pass` are the seconds of the whole pass.
  void Add(const UnknownsVector& units, double seconds, double of_pass) {
    if (of_pass > 0) {
      rows_.push_back({units, seconds, 1 / of_pass});
    }
  }

  /// Seconds of one unit of each kind. 0 for a kind of which there is none.
  UnknownsVector Rates() const {
    UnknownsVector most{};
    for (const Row& row : rows_) {
      for (std::size_t i = 0; i < kUnknowns; ++i) {
        most[i] = std::max(most[i], row.units[i] * row.weight);
      }
    }
    // The unknowns are scaled so that the largest number of units is 1.
    UnknownsMatrix a{};
    UnknownsVector b{};
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      a[i][i] = most[i] > 0 ? kSmallRates : 1;
    }
    for (const Row& row : rows_) {
      for (std::size_t i = 0; i < kUnknowns; ++i) {
        for (std::size_t j = 0; j < kUnknowns; ++j) {
          if (most[i] > 0 && most[j] > 0) {
            a[i][j] += row.units[i] / most[i] * row.weight * row.units[j] / most[j] * row.weight;
          }
        }
        b[i] += most[i] > 0 ? row.units[i] / most[i] * row.weight * row.seconds * row.weight : 0;
      }
    }
    UnknownsVector rates = coordinator::NonnegativeMinimum(a, b);
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      rates[i] = most[i] > 0 ? rates[i] / most[i] : 0;
    }
    return rates;
  }

  bool empty() const { return rows_.empty(); }

 private:
  struct Row {
    UnknownsVector units{};
    double seconds = 0;
    double weight = 0;
  };
  std::vector<Row> rows_;
};

}  // namespace

CostRates FitCostRates(std::span<const CostCalibration> calibrations) {
  FittedPhase products;
  FittedPhase attention;
  FittedPhase other;
  FittedPhase rest;
  FittedPhase on_host;
  FittedPhase between_hosts;
  for (const CostCalibration& calibration : calibrations) {
    const Layout& layout = calibration.layout;
    const double threads = layout.threads;
    for (const MeasuredPass& pass : calibration.passes) {
      const PassShare share =
          ShareOf(calibration.shape, calibration.weights, layout, /*rank=*/0, pass.work);
      const Wire wire =
          WireOf(calibration.shape, calibration.weights.precisions.layers, layout, pass.work);
      products.Add({share.weight_bytes / threads, share.few_operations / threads,
                    share.more_operations / threads},
                   pass.products, pass.seconds);
      attention.Add({share.key_numbers / threads, share.query_numbers / threads}, pass.attention,
                    pass.seconds);
      other.Add({share.row_numbers / threads, share.added_numbers / threads, share.layers},
                pass.other, pass.seconds);
      const bool has_ranks = layout.ranks() > 1;
      rest.Add({1, has_ranks ? 1.0 : 0.0, static_cast<double>(pass.work.rows)},
               std::max(0.0, pass.seconds - pass.products - pass.attention - pass.other -
                                 pass.communication),
               pass.seconds);
      if (layout.hosts > 1) {
        between_hosts.Add({wire.messages, wire.host_bytes / layout.ranks_a_host},
                          pass.communication, pass.seconds);
      } else if (has_ranks) {
        on_host.Add({wire.exchanges}, pass.communication, pass.seconds);
      }
    }
  }
  CostRates rates;
  const auto of_products = products.Rates();
  rates.weight_byte = of_products[0];
  rates.few_operation = of_products[1];
  rates.more_operation = of_products[2];
  const auto of_attention = attention.Rates();
  rates.key_number = of_attention[0];
  rates.query_number = of_attention[1];
  const auto of_other = other.Rates();
  rates.row_number = of_other[0];
  rates.added_number = of_other[1];
  rates.layer = of_other[2];
  const auto of_rest = rest.Rates();
  rates.pass = of_rest[0];
  rates.ranks_pass = of_rest[1];
  rates.row = of_rest[2];
  if (!on_host.empty()) {
    rates.exchange = on_host.Rates()[0];
  }
  if (!between_hosts.empty()) {
    const auto of_hosts = between_hosts.Rates();
    rates.message = of_hosts[0];
    rates.sent_byte = of_hosts[1];
  }
  if (on_host.empty() && between_hosts.empty()) {
    rates.added_number = rates.row_number;
  }
  return rates;
}

}  // namespace scorecast::launcher
