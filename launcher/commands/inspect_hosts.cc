#include "launcher/commands/inspect_hosts.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "launcher/cost/cluster_layouts.h"
#include "launcher/cost/cost_calibration.h"
#include "launcher/host/host_resources.h"
#include "proto/base/count.h"
#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "shard/linear/backends.h"
#include "shard/linear/precision.h"

namespace scorecast::launcher {
namespace {

using nlohmann::ordered_json;

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

/// The best layouts on a number of hosts.
struct BestLayouts {
  int hosts = 1;
  const LayoutCost* most_requests = nullptr;
  const LayoutCost* shortest = nullptr;
};

/// The number with three digits, or without decimals if it is large.
std::string Short(double number) {
  std::array<char, 32> text{};
  if (number < 100) {
    std::snprintf(text.data(), text.size(), "%.3g", number);
  } else {
    std::snprintf(text.data(), text.size(), "%.0f", number);
  }
  return text.data();
}

/// The type of the weights in the checkpoint, by config.json.
shard::Dtype StoredType(const proto::ModelConfig& config) {
  return config.dtype == "bfloat16"  ? shard::Dtype::kBF16
         : config.dtype == "float16" ? shard::Dtype::kF16
                                     : shard::Dtype::kF32;
}

const shard::BackendEntry& BackendOf(const std::string& name) {
  const auto backends = shard::Backends();
  const auto found = std::ranges::find(backends, name, &shard::BackendEntry::name);
  if (found == backends.end()) {
    throw proto::StartupError("--calibration: this version has no products named " +
                              proto::Quoted(name));
  }
  return *found;
}

/// Reads the calibrations, which must be of one precision and kernel set.
std::vector<CostCalibration> ReadCalibrations(const InspectFlags& flags) {
  std::vector<CostCalibration> calibrations;
  for (const std::filesystem::path& path : flags.hosts.calibrations) {
    calibrations.push_back(ReadCostCalibration(path));
    const CostCalibration& first = calibrations.front();
    const CostCalibration& last = calibrations.back();
    const std::string dtype(shard::Name(last.weights.precisions.layers));
    if (last.weights.precisions.layers != first.weights.precisions.layers ||
        last.kernels != first.kernels) {
      throw proto::StartupError("--calibration: " + proto::OneLinePath(path.string()) +
                                " is of another precision or of other kernels than the first: " +
                                dtype + ", " + proto::OneLine(last.kernels));
    }
    if (flags.engine.dtype != "auto" && flags.engine.dtype != dtype) {
      throw proto::StartupError("--dtype " + flags.engine.dtype + ": " +
                                proto::OneLinePath(path.string()) + " is a calibration of " +
                                dtype);
    }
  }
  return calibrations;
}

Cluster ClusterOf(const InspectFlags& flags, const std::vector<CostCalibration>& calibrations) {
  const InspectHostsFlags& hosts = flags.hosts;
  Cluster cluster;
  cluster.config = proto::LoadModelConfig(flags.engine.model, TaskFromFlag(flags.engine.task),
                                          IgnoredKeysOf(flags.engine));
  if (cluster.config.read_head) {
    throw proto::StartupError("--hosts needs a model that scores tokens, and " +
                              cluster.config.architecture + " pools rows");
  }
  if (hosts.hosts > 1 && hosts.bandwidth == 0) {
    throw proto::StartupError("--hosts " + std::to_string(hosts.hosts) +
                              " needs --bandwidth: the network between the hosts");
  }
  const CostCalibration& first = calibrations.front();
  const shard::ProductPrecisions precisions = first.weights.precisions;
  const shard::Dtype stored = StoredType(cluster.config);
  cluster.weights = {
      .precisions = precisions,
      .layer_size = BackendOf(first.layer_backend).WeightSize(precisions.layers, stored),
      .lm_head_size = BackendOf(first.lm_head_backend).WeightSize(precisions.lm_head, stored)};
  cluster.rates = FitCostRates(calibrations);
  cluster.hosts = {.bandwidth = hosts.bandwidth * 1e9 / 8,
                   .latency = hosts.latency * 1e-6,
                   .memory_bandwidth = hosts.memory_bandwidth * 1e9};
  cluster.cores = hosts.cores;
  cluster.host_memory = hosts.host_memory ? static_cast<std::int64_t>(*hosts.host_memory * kGib)
                                          : DetectHostResources().memory;
  cluster.flags = flags.engine;
  cluster.request = {
      .query_tokens = hosts.query_tokens, .items = hosts.items, .item_tokens = hosts.item_tokens};
  return cluster;
}

/// What is not measured, one sentence each.
std::vector<std::string> Assumptions(const InspectFlags& flags, const Cluster& cluster,
                                     const std::vector<CostCalibration>& calibrations) {
  std::vector<std::string> texts;
  int most_cores = 0;
  bool has_ranks = false;
  for (const CostCalibration& calibration : calibrations) {
    most_cores = std::max(most_cores, calibration.layout.ranks_a_host * calibration.layout.threads);
    has_ranks = has_ranks || calibration.layout.ranks() > 1;
  }
  if (flags.hosts.cores > most_cores) {
    texts.push_back("a core is as fast beside " + std::to_string(flags.hosts.cores - 1) +
                    " others as beside " + std::to_string(most_cores - 1));
  }
  if (flags.hosts.memory_bandwidth == 0) {
    texts.emplace_back("each core reads memory as fast as in the calibration");
  }
  if (!has_ranks) {
    texts.emplace_back("a number of a summand is added up as fast as one of a row is normalised");
  }
  if (!cluster.rates.exchange) {
    texts.push_back("an exchange of the ranks of a host waits for " +
                    Short(kAssumedExchange * 1e6) + " us");
  }
  if (!cluster.rates.message && flags.hosts.hosts > 1) {
    texts.push_back("a message between hosts takes " + Short(kAssumedMessage * 1e6) + " us");
  }
  return texts;
}

std::string LayoutText(const Layout& layout) {
  return std::to_string(layout.hosts) + " x " + std::to_string(layout.ranks_a_host) + " x " +
         std::to_string(layout.threads);
}

void PrintTable(const char* title, const std::vector<BestLayouts>& best,
                const LayoutCost* BestLayouts::*which, const ItemRequest& request) {
  std::printf("\n%s\n", title);
  std::printf("  %5s  %-14s %8s %10s %9s %9s %13s  %s\n", "hosts", "layout", "replicas", "items/s",
              "p50, s", "GiB", "communication", "limited by");
  for (const BestLayouts& row : best) {
    const LayoutCost* const cost = row.*which;
    if (cost == nullptr) {
      std::printf("  %5d  does not fit the memory of %s\n", row.hosts,
                  proto::Count(row.hosts, "host").c_str());
      continue;
    }
    const int replicas = cost->ReplicasOn(row.hosts);
    const double items = static_cast<double>(replicas * request.items) / cost->seconds;
    std::printf("  %5d  %-14s %8d %10s %9s %9.1f %11.0f %%  %s\n", row.hosts,
                LayoutText(cost->layout).c_str(), replicas, Short(items).c_str(),
                Short(cost->seconds).c_str(), static_cast<double>(cost->memory) / kGib,
                100 * cost->pass.communication() / cost->pass.seconds(),
                std::string(cost->pass.Limit()).c_str());
  }
}

void PrintText(const InspectFlags& flags, const Cluster& cluster,
               const std::vector<CostCalibration>& calibrations,
               const std::vector<BestLayouts>& best) {
  const ItemRequest& request = cluster.request;
  const CostRates& rates = cluster.rates;
  std::printf("model\n  %s, %.2f billion parameters, %s\n", cluster.config.architecture.c_str(),
              static_cast<double>(shard::CountParameters(cluster.config)) * 1e-9,
              std::string(shard::Name(cluster.weights.precisions.layers)).c_str());
  std::printf("request\n  %s of %s behind a query of %lld: %lld rows in %s\n",
              proto::Count(request.items, "item").c_str(),
              proto::Count(request.item_tokens, "token").c_str(),
              static_cast<long long>(request.query_tokens), static_cast<long long>(request.rows()),
              proto::Count(cluster.passes(), "pass", "passes").c_str());
  std::printf("each host\n  %s, %s", proto::Count(flags.hosts.cores, "core").c_str(),
              Gib(cluster.host_memory).c_str());
  if (flags.hosts.hosts > 1) {
    std::printf(", %s Gbit/s, messages %s us longer than in the calibration",
                Short(flags.hosts.bandwidth).c_str(), Short(flags.hosts.latency).c_str());
  }
  std::printf("\n");
  std::printf("measured\n");
  for (const CostCalibration& calibration : calibrations) {
    std::printf("  %s x %s x %s: %s\n", proto::Count(calibration.layout.hosts, "host").c_str(),
                proto::Count(calibration.layout.ranks_a_host, "rank").c_str(),
                proto::Count(calibration.layout.threads, "thread").c_str(),
                calibration.kernels.c_str());
  }
  const auto inverse = [](double seconds, double unit) {
    return seconds > 0 ? Short(1 / seconds / unit) : "unlimited";
  };
  std::printf(
      "  a core: products %s GFLOP/s (%s of a pass's first %lld rows), weights read at %s GB/s\n",
      inverse(rates.more_operation, 1e9).c_str(), inverse(rates.few_operation, 1e9).c_str(),
      static_cast<long long>(kFewRows), inverse(rates.weight_byte, 1e9).c_str());
  if (rates.exchange) {
    std::printf("  an exchange on a host: %s us\n", Short(*rates.exchange * 1e6).c_str());
  }
  if (rates.message) {
    std::printf("  a message between hosts: %s us, and a GB that a rank sends: %s s\n",
                Short(*rates.message * 1e6).c_str(), Short(rates.sent_byte * 1e9).c_str());
  }
  std::printf("assumed\n");
  for (const std::string& text : Assumptions(flags, cluster, calibrations)) {
    std::printf("  %s\n", text.c_str());
  }
  std::printf(
      "\nlayout: hosts x ranks of a host x threads of a rank, of one replica; p50: a request that "
      "finds the service idle; GiB: all ranks of a host\n");
  PrintTable("most items/s", best, &BestLayouts::most_requests, request);
  PrintTable("shortest p50", best, &BestLayouts::shortest, request);
}

ordered_json JsonOf(const LayoutCost& cost, const Cluster& cluster) {
  const PassCost& pass = cost.pass;
  const auto passes = static_cast<double>(cluster.passes());
  return {{"hosts", cost.layout.hosts},
          {"ranks_a_host", cost.layout.ranks_a_host},
          {"threads", cost.layout.threads},
          {"replicas_a_host", cost.replicas_a_host},
          {"p50_s", cost.seconds},
          {"cpu_s", passes * pass.cpu_seconds},
          {"host_bytes", passes * pass.host_bytes},
          {"memory_bytes_a_host", cost.memory},
          {"limit", pass.Limit()},
          {"communication_share", pass.communication() / pass.seconds()},
          {"pass_s",
           {{"weights", pass.weights},
            {"operations", pass.operations},
            {"attention", pass.attention},
            {"other", pass.other},
            {"on_host", pass.on_host},
            {"bandwidth", pass.bandwidth},
            {"latency", pass.latency},
            {"overlapped", pass.overlapped}}}};
}

ordered_json JsonOf(const LayoutCost* cost, int hosts, const Cluster& cluster) {
  if (cost == nullptr) {
    return nullptr;
  }
  ordered_json object = JsonOf(*cost, cluster);
  const int replicas = cost->ReplicasOn(hosts);
  object["replicas"] = replicas;
  object["items_per_s"] = static_cast<double>(replicas * cluster.request.items) / cost->seconds;
  return object;
}

void PrintJson(const InspectFlags& flags, const Cluster& cluster,
               const std::vector<CostCalibration>& calibrations,
               const std::vector<LayoutCost>& layouts, const std::vector<BestLayouts>& best) {
  const CostRates& rates = cluster.rates;
  ordered_json object;
  object["model"] = {{"architecture", cluster.config.architecture},
                     {"parameters", shard::CountParameters(cluster.config)},
                     {"dtype", shard::Name(cluster.weights.precisions.layers)}};
  object["request"] = {{"query_tokens", cluster.request.query_tokens},
                       {"items", cluster.request.items},
                       {"item_tokens", cluster.request.item_tokens},
                       {"passes", cluster.passes()}};
  object["host"] = {{"cores", cluster.cores},
                    {"memory_bytes", cluster.host_memory},
                    {"bandwidth_gbit_s", flags.hosts.bandwidth},
                    {"latency_us", flags.hosts.latency},
                    {"memory_bandwidth_gb_s", flags.hosts.memory_bandwidth}};
  object["kernels"] = calibrations.front().kernels;
  object["rates_s"] = {{"weight_byte", rates.weight_byte},
                       {"few_operation", rates.few_operation},
                       {"more_operation", rates.more_operation},
                       {"key_number", rates.key_number},
                       {"query_number", rates.query_number},
                       {"row_number", rates.row_number},
                       {"added_number", rates.added_number},
                       {"layer", rates.layer},
                       {"pass", rates.pass},
                       {"ranks_pass", rates.ranks_pass},
                       {"row", rates.row},
                       {"exchange", rates.exchange.value_or(kAssumedExchange)},
                       {"message", rates.message.value_or(kAssumedMessage)},
                       {"sent_byte", rates.sent_byte}};
  object["assumed"] = Assumptions(flags, cluster, calibrations);
  object["best"] = ordered_json::array();
  for (const BestLayouts& row : best) {
    object["best"].push_back({{"hosts", row.hosts},
                              {"most_items", JsonOf(row.most_requests, row.hosts, cluster)},
                              {"shortest", JsonOf(row.shortest, row.hosts, cluster)}});
  }
  object["layouts"] = ordered_json::array();
  for (const LayoutCost& cost : layouts) {
    object["layouts"].push_back(JsonOf(cost, cluster));
  }
  std::printf("%s\n", object.dump(1).c_str());
}

}  // namespace

int RunInspectHosts(const InspectFlags& flags) {
  const std::vector<CostCalibration> calibrations = ReadCalibrations(flags);
  const Cluster cluster = ClusterOf(flags, calibrations);
  const std::vector<LayoutCost> layouts = LayoutsUpTo(cluster, flags.hosts.hosts);
  std::vector<BestLayouts> best;
  for (int hosts = 1; hosts <= flags.hosts.hosts; ++hosts) {
    best.push_back({hosts, MostRequests(layouts, hosts), ShortestRequest(layouts, hosts)});
  }
  if (flags.hosts.json) {
    PrintJson(flags, cluster, calibrations, layouts, best);
  } else {
    PrintText(flags, cluster, calibrations, best);
  }
  return kExitOk;
}

}  // namespace scorecast::launcher
