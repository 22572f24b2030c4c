#include "launcher/cost/pass_cost.h"

#include <vector>

#include <gtest/gtest.h>

#include "launcher/cost/cluster_layouts.h"
#include "launcher/cost/cost_rates.h"
#include "launcher/cost/wire.h"
#include "launcher/engine/plan_limits.h"
#include "proto/base/error.h"
#include "proto/model/partition.h"

namespace scorecast::launcher {
namespace pass_cost_test {

using coordinator::PassWork;
using shard::Precision;

/// Hidden size 64, 2 layers, 4 heads of 16 with 2 K/V heads, intermediate size 128, 256 tokens.
proto::ModelConfig Small() {
  proto::ModelConfig config;
  config.architecture = "LlamaForCausalLM";
  config.hidden_size = 64;
  config.layers.resize(2);
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 16;
  config.intermediate_size = 128;
  config.vocab_size = 256;
  config.max_position_embeddings = 512;
  return config;
}

shard::HeldWeights Held(Precision precision) {
  const std::int64_t size = shard::ElementSize(precision);
  return {.precisions = {precision, precision}, .layer_size = size, .lm_head_size = size};
}

TEST(PassShare, OfOneRankIsTheWholePass) {
  const PassShare share =
      ShareOf(Small(), Held(Precision::kBfloat16), {}, 0, {.rows = 100, .keys = 5000, .reads = 10});
  // Weights of a layer: queries and output 2 x 64 x 64, keys and values 2 x 32 x 64, gate, up and
  // down 3 x 128 x 64.
  const double of_rows = 2 * 64 * 64 + 3 * 128 * 64;
  const double kv = 2 * 32 * 64;
  const double head = 256 * 64;
  EXPECT_EQ(share.weight_bytes, 2 * (2 * (of_rows + kv) + head));
  // The last layer computes keys and values of all rows, and everything else of the 10 that are
  // read.
  EXPECT_EQ(share.few_operations, 2 * (32 * (of_rows + 2 * kv) + 10 * (of_rows + head)));
  EXPECT_EQ(share.more_operations, 2 * 68 * (of_rows + 2 * kv));
  EXPECT_EQ(share.key_numbers, 110 * 50 * 64);
  EXPECT_EQ(share.query_numbers, 110 * 64);
  EXPECT_EQ(share.row_numbers, 2 * 110 * 64 + 110 * 64);
  EXPECT_EQ(share.added_numbers, 0);
  EXPECT_EQ(share.layers, 2);
}

TEST(PassShare, OfFourRanksIsAQuarterButForSharedHeads) {
  const Layout layout{.hosts = 2, .ranks_a_host = 2};
  const PassWork work{.rows = 100, .keys = 5000, .reads = 10};
  const PassShare share = ShareOf(Small(), Held(Precision::kFloat32), layout, 0, work);
  // Two of four ranks share a K/V head, so each has half of the keys and values.
  const double of_rows = (2 * 64 * 64 + 3 * 128 * 64) / 4.0;
  const double kv = 32 * 64;
  EXPECT_EQ(share.weight_bytes, 4 * (2 * (of_rows + kv) + 256 * 64 / 4.0));
  EXPECT_EQ(share.key_numbers, 110 * 50 * 16);
  EXPECT_EQ(share.row_numbers, 2 * 110 * 64 / 4.0);
  // A row's owner adds up the summands of two ranks of its host, and the sum of the other host.
  EXPECT_EQ(share.added_numbers, 2 * 110 * 64 / 4.0 * 3);
  // It sends sums of half of its lane's rows, which are half of all rows, with two summands each.
  EXPECT_EQ(SentSumNumbers(Small(), layout, work), 2 * 110 / 2.0 / 2 * 2 * 64);
  EXPECT_EQ(SentSumNumbers(Small(), {.hosts = 2}, work), 0);
}

TEST(Wire, HasTheBytesOfTheExchange) {
  const PassWork work{.rows = 100, .keys = 5000, .reads = 10};
  // Numbers of a host in one exchange: half of the rows on two hosts. The first layer shares and
  // sums twice, the last shares all rows once and then only those read, and then the final rows.
  const auto bytes = [](double node, double shared, double final_row) {
    return (100 * (2 * node + 3 * shared) + 10 * (2 * node + shared + final_row)) / 2;
  };
  const Layout two_hosts{.hosts = 2};
  EXPECT_EQ(WireOf(Small(), Precision::kFloat32, two_hosts, work).host_bytes, bytes(256, 256, 256));
  EXPECT_EQ(WireOf(Small(), Precision::kBfloat16, two_hosts, work).host_bytes,
            bytes(128, 128, 256));
  EXPECT_EQ(WireOf(Small(), Precision::kInt8, two_hosts, work).host_bytes, bytes(128, 68, 256));
  // Each host sends each row once, however many ranks it has.
  const Wire of_four = WireOf(Small(), Precision::kFloat32, {.hosts = 2, .ranks_a_host = 2}, work);
  EXPECT_EQ(of_four.host_bytes, bytes(256, 256, 256));
  EXPECT_EQ(of_four.messages, 9);
  // Three quarters of the rows on four hosts, to three others.
  const Wire on_four_hosts = WireOf(Small(), Precision::kFloat32, {.hosts = 4}, work);
  EXPECT_EQ(on_four_hosts.host_bytes, bytes(256, 256, 256) * 3 / 2);
  EXPECT_EQ(on_four_hosts.messages, 27);
  EXPECT_EQ(WireOf(Small(), Precision::kFloat32, {.ranks_a_host = 4}, work).host_bytes, 0);
  EXPECT_EQ(WireOf(Small(), Precision::kFloat32, {}, work).exchanges, 0);
}

constexpr CostRates kRates = {.weight_byte = 1e-10,
                              .few_operation = 2e-11,
                              .more_operation = 1e-11,
                              .key_number = 5e-11,
                              .query_number = 2e-9,
                              .row_number = 1e-9,
                              .added_number = 3e-10,
                              .layer = 1e-6,
                              .pass = 1e-5,
                              .ranks_pass = 3e-5,
                              .row = 1e-8,
                              .message = 1e-5,
                              .sent_byte = 5e-10};

/// Passes of the small model that take exactly as long as the rates say.
CostCalibration CalibrationOf(const Layout& layout) {
  CostCalibration calibration{
      .weights = Held(Precision::kFloat32), .layout = layout, .shape = Small()};
  for (const std::int64_t rows : {1, 8, 32, 64, 512}) {
    for (const std::int64_t keys_a_row : {rows, std::int64_t{1}}) {
      const PassWork work{.rows = rows, .keys = rows * keys_a_row, .reads = 1};
      const PassCost cost = CostOf(Small(), calibration.weights, kRates, {}, layout, 1, work);
      const double beside = kRates.pass + kRates.row * static_cast<double>(rows) +
                            (layout.ranks() > 1 ? kRates.ranks_pass : 0);
      calibration.passes.push_back({.work = work,
                                    .seconds = cost.seconds(),
                                    .products = cost.weights + cost.operations,
                                    .attention = cost.attention,
                                    .other = cost.other - beside,
                                    .communication = cost.communication()});
    }
  }
  return calibration;
}

TEST(CostRates, AreThoseOfTheCalibrations) {
  const std::vector<CostCalibration> calibrations = {CalibrationOf({.threads = 2}),
                                                     CalibrationOf({.hosts = 2})};
  const CostRates rates = FitCostRates(calibrations);
  const auto expect_near = [](double rate, double expected) {
    EXPECT_NEAR(rate, expected, 0.01 * expected);
  };
  expect_near(rates.weight_byte, kRates.weight_byte);
  expect_near(rates.few_operation, kRates.few_operation);
  expect_near(rates.more_operation, kRates.more_operation);
  expect_near(rates.key_number, kRates.key_number);
  expect_near(rates.row_number, kRates.row_number);
  expect_near(rates.layer, kRates.layer);
  expect_near(rates.message.value(), *kRates.message);
  expect_near(rates.sent_byte, kRates.sent_byte);
  EXPECT_FALSE(rates.exchange) << "no calibration has several ranks on a host";
  // A layout that no calibration has.
  const Layout other{.hosts = 4, .threads = 2};
  const PassWork work{.rows = 300, .keys = 20'000, .reads = 20};
  const shard::HeldWeights weights = Held(Precision::kFloat32);
  expect_near(CostOf(Small(), weights, rates, {}, other, 1, work).seconds(),
              CostOf(Small(), weights, kRates, {}, other, 1, work).seconds());
}

TEST(PassCost, IsBoundedByNetworkAndMemory) {
  const PassWork work{.rows = 100, .keys = 5000, .reads = 10};
  const shard::HeldWeights weights = Held(Precision::kFloat32);
  const Layout two_hosts{.hosts = 2};
  const double sent = WireOf(Small(), Precision::kFloat32, two_hosts, work).host_bytes;
  const auto cost = [&](const Hosts& hosts, const Layout& layout, int replicas) {
    return CostOf(Small(), weights, kRates, hosts, layout, replicas, work);
  };
  // 0.1 Gbit/s, of which headers take a part.
  const PassCost slow = cost({.bandwidth = 0.1e9 / 8}, two_hosts, 1);
  EXPECT_NEAR(slow.bandwidth, 8 * sent / 0.1e9 * 1514 / 1448, 1e-9);
  EXPECT_EQ(slow.Limit(), "network bandwidth");
  EXPECT_NEAR(cost({.bandwidth = 1e12}, two_hosts, 1).bandwidth, sent * kRates.sent_byte, 1e-12);
  const PassCost of_four = cost({.bandwidth = 1e12}, {.hosts = 2, .ranks_a_host = 2}, 1);
  EXPECT_NEAR(of_four.bandwidth, sent * kRates.sent_byte / 2, 1e-12);
  // A trip for each of ten exchanges, and three for the pass.
  const PassCost late = cost({.bandwidth = 1e12, .latency = 1}, two_hosts, 1);
  EXPECT_NEAR(late.latency, 13 + 9 * 1e-5, 1e-9);
  EXPECT_EQ(late.Limit(), "network latency");

  const PassShare whole = ShareOf(Small(), weights, {}, 0, work);
  EXPECT_NEAR(cost({}, {.threads = 4}, 1).weights, whole.weight_bytes * 1e-10 / 4, 1e-15);
  const PassCost crowded = cost({.memory_bandwidth = 1e6}, {.threads = 4}, 3);
  EXPECT_NEAR(crowded.weights, 3 * whole.weight_bytes / 1e6, 1e-9);
  EXPECT_EQ(crowded.Limit(), "memory bandwidth");
  EXPECT_EQ(crowded.communication(), 0);
}

TEST(PassCost, RanksOfLargePassesComputeWhileRowsTravel) {
  const shard::HeldWeights weights = Held(Precision::kFloat32);
  const auto cost = [&](std::int64_t rows, double bandwidth) {
    return CostOf(Small(), weights, kRates, {.bandwidth = bandwidth}, {.hosts = 2}, 1,
                  {.rows = rows, .keys = 50 * rows, .reads = 10});
  };
  EXPECT_EQ(cost(127, 1e6).overlapped, 0);
  // A slow network is always busy.
  const PassCost slow = cost(128, 1e6);
  const double steps = 4.0 * static_cast<double>(Small().num_hidden_layers());
  EXPECT_NEAR(slow.seconds() - slow.on_host,
              slow.bandwidth + slow.latency + slow.computation() / steps, 1e-9);
  // On a fast one, ranks wait for what the calibrations have.
  const PassCost fast = cost(128, 1e12);
  EXPECT_NEAR(fast.overlapped, 0, 1e-12);
  const PassCost between = cost(128, 1e9);
  EXPECT_GT(between.bandwidth, fast.bandwidth);
  EXPECT_NEAR(between.seconds(), fast.seconds(), 1e-12);
}

TEST(PassCost, HasTheCpuTimeOfAllThreads) {
  const PassWork work{.rows = 100, .keys = 5000, .reads = 10};
  const auto cpu = [&](const Layout& layout) {
    return CostOf(Small(), Held(Precision::kFloat32), kRates, {}, layout, 1, work).cpu_seconds;
  };
  EXPECT_NEAR(cpu({.threads = 4}), cpu({}), 1e-12);
  EXPECT_GT(cpu({.hosts = 2}), cpu({})) << "two ranks also add up summands";
  EXPECT_LT(cpu({.hosts = 2}), 1.5 * cpu({}));
}

Cluster SmallCluster() {
  return {.config = Small(),
          .weights = Held(Precision::kFloat32),
          .rates = kRates,
          .hosts = {.bandwidth = 1e9},
          .cores = 4,
          .host_memory = std::int64_t{1} << 40,
          .request = {.query_tokens = 10, .items = 9, .item_tokens = 10}};
}

TEST(ItemRequest, HasTheKeysOfItsRows) {
  const PassWork work = WorkOf({.query_tokens = 3, .items = 2, .item_tokens = 2}, {});
  EXPECT_EQ(work.rows, 7);
  EXPECT_EQ(work.keys, 1 + 2 + 3 + 2 * (4 + 5));
  EXPECT_EQ(work.reads, 2);
}

TEST(ClusterLayouts, UseAllCoresAndTheHeadsOfTheModel) {
  const Cluster cluster = SmallCluster();
  int on_one_host = 0;
  int on_four_hosts = 0;
  for (const LayoutCost& cost : LayoutsUpTo(cluster, 5)) {
    EXPECT_LE(cost.layout.ranks(), 4) << "the model has four heads";
    EXPECT_EQ(cost.layout.ranks_a_host * cost.layout.threads * cost.replicas_a_host, 4);
    on_one_host += cost.layout.hosts == 1 ? 1 : 0;
    on_four_hosts += cost.layout.hosts == 4 ? 1 : 0;
  }
  EXPECT_EQ(on_one_host, 6);
  EXPECT_EQ(on_four_hosts, 1);
}

TEST(ClusterLayouts, NeedTheMemoryOfTheEngine) {
  Cluster cluster = SmallCluster();
  for (const LayoutCost& cost : LayoutsUpTo(cluster, 2)) {
    const int on_host = cost.layout.ranks_a_host * cost.replicas_a_host;
    const EngineLimits limits =
        MakeEngineLimits(cluster.flags, cluster.config, cluster.weights, cost.layout.ranks(),
                         {.bytes = cluster.host_memory, .ranks = on_host});
    const auto partition = proto::MakePartition(cluster.config, 0, cost.layout.ranks());
    EXPECT_EQ(
        cost.memory,
        on_host *
            shard::EstimateMemory(cluster.config, partition, limits.plan, cluster.weights).total());
  }
  cluster.host_memory = 1 << 20;
  EXPECT_TRUE(LayoutsUpTo(cluster, 2).empty());
  EXPECT_EQ(MostRequests({}, 2), nullptr);
  EXPECT_EQ(ShortestRequest({}, 2), nullptr);
}

TEST(ClusterLayouts, AreChosenByRequestsOrByTime) {
  // Two replicas of one host compute 2 requests in 2 s; one replica of both takes 1.5 s for each.
  const std::vector<LayoutCost> layouts = {{.layout = {.hosts = 1}, .seconds = 2},
                                           {.layout = {.hosts = 2}, .seconds = 1.5}};
  EXPECT_EQ(MostRequests(layouts, 1)->layout.hosts, 1);
  EXPECT_EQ(ShortestRequest(layouts, 1)->layout.hosts, 1);
  EXPECT_EQ(MostRequests(layouts, 2)->layout.hosts, 1);
  EXPECT_EQ(ShortestRequest(layouts, 2)->layout.hosts, 2);
  EXPECT_EQ(layouts.front().ReplicasOn(2), 2);
  EXPECT_EQ(layouts.back().ReplicasOn(3), 1);
  // 1 % more requests are not worth twice the time.
  const std::vector<LayoutCost> alike = {
      {.layout = {.threads = 1}, .replicas_a_host = 2, .seconds = 2},
      {.layout = {.threads = 2}, .seconds = 1.01}};
  EXPECT_EQ(MostRequests(alike, 1)->replicas_a_host, 1);
}

TEST(ClusterLayouts, ALongRequestTakesSeveralPasses) {
  Cluster cluster = SmallCluster();
  const double whole = ShortestRequest(LayoutsUpTo(cluster, 1), 1)->seconds;
  EXPECT_EQ(cluster.passes(), 1);
  cluster.flags.max_batch_tokens = 34;
  EXPECT_EQ(cluster.passes(), 3);
  EXPECT_GT(ShortestRequest(LayoutsUpTo(cluster, 1), 1)->seconds, whole);
}

}  // namespace pass_cost_test
}  // namespace scorecast::launcher
