#include "launcher/cost/pass_cost.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "launcher/cost/wire.h"
#include "shard/model/pass_cut.h"

namespace scorecast::launcher {
namespace {

/// A TCP segment has 1448 bytes of content in a frame of 1514, without the preamble and the gap.
constexpr double kWithHeaders = 1514.0 / 1448.0;

/// Waits for messages between hosts beside the exchanges: the ring, the plan, and the logits.
constexpr double kTripsOfPass = 3;

/// Seconds of a rank's phases if one thread did them, but for what takes the same with any number.
struct RankSeconds {
  double weights = 0;
  double operations = 0;
  double attention = 0;
  double rows = 0;
  double layers = 0;  ///< Not divided among threads.

  RankSeconds(const PassShare& share, const CostRates& rates)
      : weights(share.weight_bytes * rates.weight_byte),
        operations(share.few_operations * rates.few_operation +
                   share.more_operations * rates.more_operation),
        attention(share.key_numbers * rates.key_number + share.query_numbers * rates.query_number),
        rows(share.row_numbers * rates.row_number + share.added_numbers * rates.added_number),
        layers(share.layers * rates.layer) {}

  double of_threads() const { return weights + operations + attention + rows; }
};

}  // namespace

std::string_view PassCost::Limit() const {
  const double between = std::max(bandwidth + latency, std::numeric_limits<double>::min());
  const std::array<std::pair<double, std::string_view>, 7> parts = {
      {{operations, "instructions"},
       {weights, "memory bandwidth"},
       {attention, "attention"},
       {other, "rows and passes"},
       {on_host, "exchange on a host"},
       {bandwidth - overlapped * bandwidth / between, "network bandwidth"},
       {latency - overlapped * latency / between, "network latency"}}};
  return std::ranges::max_element(parts, {}, [](const auto& part) { return part.first; })->second;
}

PassCost CostOf(const proto::ModelConfig& config, const shard::HeldWeights& weights,
                const CostRates& rates, const Hosts& hosts, const Layout& layout, int replicas,
                const coordinator::PassWork& work) {
  PassCost cost;
  const double threads = layout.threads;
  // Every rank waits for the slowest one. Rank 0 has the largest share of everything that is split.
  const PassShare share = ShareOf(config, weights, layout, /*rank=*/0, work);
  const RankSeconds first(share, rates);
  cost.weights = first.weights / threads;
  if (hosts.memory_bandwidth > 0) {
    const double of_host = share.weight_bytes * layout.ranks_a_host * replicas;
    cost.weights = std::max(cost.weights, of_host / hosts.memory_bandwidth);
  }
  cost.operations = first.operations / threads;
  cost.attention = first.attention / threads;
  const double beside = rates.pass + rates.row * static_cast<double>(work.rows) +
                        (layout.ranks() > 1 ? rates.ranks_pass : 0);
  cost.other = first.rows / threads + first.layers + beside;

  const Wire wire = WireOf(config, weights.precisions.layers, layout, work);
  const double sent_sums = SentSumNumbers(config, layout, work) * rates.added_number;
  if (layout.ranks_a_host > 1) {
    cost.on_host = wire.exchanges * rates.exchange.value_or(kAssumedExchange);
  }
  cost.on_host += sent_sums / threads;
  cost.host_bytes = wire.host_bytes;
  if (layout.hosts > 1) {
    const double network = hosts.bandwidth > 0 ? kWithHeaders / hosts.bandwidth : 0;
    // All ranks of a host send, each an equal part.
    cost.bandwidth = wire.host_bytes * std::max(network, rates.sent_byte / layout.ranks_a_host);
    // In each exchange a rank waits for one trip, and handles a message of each other host.
    const double messages = wire.messages * rates.message.value_or(kAssumedMessage);
    cost.latency = messages + (wire.exchanges + kTripsOfPass) * hosts.latency;
    // Half of a pass is computed while the rows of the other half travel, but for the first half of
    // the first exchange. What the calibrations have is time for which ranks wait nevertheless.
    if (work.rows >= shard::kLeastRowsOfCutPass) {
      const double waited = messages + wire.host_bytes * rates.sent_byte / layout.ranks_a_host +
                            kTripsOfPass * hosts.latency;
      const double steps = 4 * static_cast<double>(config.num_hidden_layers());
      cost.overlapped =
          std::min(cost.bandwidth + cost.latency - waited, cost.computation() * (1 - 1 / steps));
    }
  }

  for (int rank = 0; rank < layout.ranks(); ++rank) {
    const RankSeconds mine(ShareOf(config, weights, layout, rank, work), rates);
    cost.cpu_seconds += mine.of_threads() + mine.layers + sent_sums;
  }
  cost.cpu_seconds += rates.row * static_cast<double>(work.rows) + rates.pass;
  return cost;
}

}  // namespace scorecast::launcher
