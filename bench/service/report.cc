#include "bench/service/report.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <tuple>

#include <nlohmann/json.hpp>

namespace scorecast::bench {
namespace {

using nlohmann::json;

void PrintTitle(const char* what, const ServiceTitle& title, const Workload& workload) {
  std::printf("%s: shape %s, f32, %d rank%s", what, title.shape.c_str(), title.ranks,
              title.ranks == 1 ? "" : "s");
  if (title.threads > 0) {
    std::printf(" x %d thread%s", title.threads, title.threads == 1 ? "" : "s");
  }
  std::printf(", passes of at most %d tokens, requests of %lld + %lld x %lld tokens",
              title.max_batch_tokens, static_cast<long long>(workload.query_tokens),
              static_cast<long long>(workload.items), static_cast<long long>(workload.item_tokens));
}

json Head(const char* bench, const ServiceTitle& title, const Workload& workload) {
  return {{"bench", bench},           {"shape", title.shape},
          {"dtype", "f32"},           {"ranks", title.ranks},
          {"threads", title.threads}, {"query_tokens", workload.query_tokens},
          {"items", workload.items},  {"item_tokens", workload.item_tokens}};
}

void PrintJson(const json& result) { std::printf("%s\n", result.dump(1).c_str()); }

json ToJson(const RequestTime& time) {
  return {{"client_ms", time.client_ms},
          {"queue_ms", time.queue_ms},
          {"forward_ms", time.forward_ms},
          {"cpu_wait_ms", time.cpu_wait_ms}};
}

std::string Number(double number, int digits) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.*f", digits, number);
  return text;
}

std::string ShareText(double share, const CpuShares& of) {
  // Half a tick, because the share of one tick may be rounded to slightly less than the resolution.
  return share < of.Resolution() / 2 ? "< " + Number(100 * of.Resolution(), 2) + " %"
                                     : Number(100 * share, 2) + " %";
}

json ToJson(const CpuShares& shares) {
  return {{"seconds", shares.seconds},
          {"ranks", shares.ranks},
          {"mpirun", shares.mpirun},
          {"resolution", shares.Resolution()}};
}

std::string LatencyText(const LoadStep& step, double share) {
  const std::optional<double> ms = step.LatencyMs(share);
  return ms ? Number(*ms, 0) : "never";
}

void PrintRates(const LoadOptions& options, const std::vector<LoadFigures>& all) {
  std::printf(
      "| mode | requests/s | of capacity | requests | p50, ms | p95, ms | p99, ms | items/s "
      "| refused | timed out | other | CPU wait |\n"
      "|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const LoadFigures& figures : all) {
    for (const LoadStep& step : figures.steps) {
      const auto requests = static_cast<std::int64_t>(step.outcomes.size());
      const std::int64_t refused = step.Count(429);
      const std::int64_t timed_out = step.Count(504);
      std::printf(
          "| %s | %.3g | %.2f | %lld | %s | %s | %s | %.1f | %lld | %lld | %lld | %.0f %% |\n",
          figures.mode.c_str(), step.rate, step.rate / figures.Capacity(),
          static_cast<long long>(requests), LatencyText(step, 0.5).c_str(),
          LatencyText(step, 0.95).c_str(), LatencyText(step, 0.99).c_str(),
          step.Throughput() * static_cast<double>(options.workload.items),
          static_cast<long long>(refused), static_cast<long long>(timed_out),
          static_cast<long long>(requests - step.Count(200) - refused - timed_out),
          100 * step.demand.WaitShare());
    }
  }
}

void PrintBest(const LoadOptions& options, const std::vector<LoadFigures>& all) {
  std::printf(
      "\n| mode | a request alone, ms | CPU wait | capacity, requests/s | highest rate with p99 < "
      "%g ms "
      "| items/s there |\n|---|---|---|---|---|---|\n",
      options.limit_ms);
  for (const LoadFigures& figures : all) {
    const LoadStep* best = figures.Best(options.limit_ms);
    std::printf(
        "| %s | %s | %.0f %% | %.3g | %s | %s |\n", figures.mode.c_str(),
        Spread(figures.service_ms, 1).c_str(), 100 * figures.alone_demand.WaitShare(),
        figures.Capacity(), best != nullptr ? Number(best->rate, 2).c_str() : "none",
        best != nullptr
            ? Number(best->Throughput() * static_cast<double>(options.workload.items), 1).c_str()
            : "");
  }
}

void PrintTransportRow(const std::string& name, const TransportTimes& times) {
  std::printf("| %s | %s | %s |\n", name.c_str(), Spread(times.client, 2).c_str(),
              Spread(times.outside, 3).c_str());
}

void PrintTransports(const TransportFigures& transports, const std::string& build) {
  PrintTransportRow("socket" + build, transports.socket);
  PrintTransportRow("HTTP" + build, transports.http);
  std::printf("| HTTP - socket%s, limit %g | %.2f | %.3f |\n", build.c_str(), kHttpLimitMs,
              transports.http.client.Median() - transports.socket.client.Median(),
              transports.http.outside.Median() - transports.socket.outside.Median());
}

/// The ratios of two builds' measurements of the same round, or of the same rate.
Samples Ratios(const std::vector<double>& ours, const std::vector<double>& others) {
  Samples ratios;
  for (std::size_t i = 0; i < std::min(ours.size(), others.size()); ++i) {
    if (ours[i] > 0 && others[i] > 0) {
      ratios.values.push_back(ours[i] / others[i]);
    }
  }
  return ratios;
}

std::string RatioText(const Samples& ratios) {
  return ratios.values.empty() ? "" : Spread(ratios, 3);
}

void PrintTransportRatios(const TransportFigures& ours, const TransportFigures& other) {
  for (const auto& [name, times, others] : {std::tuple{"socket", &ours.socket, &other.socket},
                                            std::tuple{"HTTP", &ours.http, &other.http}}) {
    std::printf("| %s, this / other | %s | %s |\n", name,
                RatioText(Ratios(times->client.values, others->client.values)).c_str(),
                RatioText(Ratios(times->outside.values, others->outside.values)).c_str());
  }
}

/// The latency within which `share` of the requests of each rate got a score; 0 if too few did.
std::vector<double> LatenciesMs(const LoadFigures& figures, double share) {
  std::vector<double> latencies;
  for (const LoadStep& step : figures.steps) {
    latencies.push_back(step.LatencyMs(share).value_or(0));
  }
  return latencies;
}

std::vector<double> Throughputs(const LoadFigures& figures) {
  std::vector<double> throughputs;
  for (const LoadStep& step : figures.steps) {
    throughputs.push_back(step.Throughput());
  }
  return throughputs;
}

/// CPU seconds of the ranks for each request.
std::vector<double> CpuOfRequests(const LoadFigures& figures) {
  std::vector<double> seconds;
  for (const LoadStep& step : figures.steps) {
    seconds.push_back(step.demand.used / static_cast<double>(step.outcomes.size()));
  }
  return seconds;
}

void PrintLoadRatios(const LoadOptions& options, const std::vector<LoadFigures>& all) {
  std::printf(
      "\n%s: a request alone in each round, the others at each rate that both have.\n\n"
      "| mode | a request alone | p50 | p95 | p99 | items/s | CPU of a request "
      "|\n|---|---|---|---|---|---|---|\n",
      options.with_page ? "With the page open / without it (a request alone has no page in both)"
                        : "This build / the other one");
  for (std::size_t i = 0; i < all.size() / 2; ++i) {
    const LoadFigures& ours = all[i];
    const LoadFigures& other = all[i + all.size() / 2];
    std::printf("| %s | %s |", ours.mode.c_str(),
                RatioText(Ratios(ours.service_ms.values, other.service_ms.values)).c_str());
    for (const double share : {0.5, 0.95, 0.99}) {
      std::printf(" %s |",
                  RatioText(Ratios(LatenciesMs(ours, share), LatenciesMs(other, share))).c_str());
    }
    std::printf(" %s | %s |\n", RatioText(Ratios(Throughputs(ours), Throughputs(other))).c_str(),
                RatioText(Ratios(CpuOfRequests(ours), CpuOfRequests(other))).c_str());
  }
}

json ToJson(const TransportTimes& times) {
  return {{"client_ms", times.client.values}, {"outside_ms", times.outside.values}};
}

json ToJson(const LoadFigures& figures, const LoadOptions& options) {
  json steps = json::array();
  for (const LoadStep& step : figures.steps) {
    json outcomes = json::array();
    for (const Outcome& outcome : step.outcomes) {
      outcomes.push_back(
          {{"arrival_s", outcome.arrival},
           {"sent_late_s", outcome.sent_late},
           {"latency_s", outcome.code == Outcome::kNoReply ? json(nullptr) : json(outcome.latency)},
           {"code", outcome.code}});
    }
    steps.push_back({{"rate", step.rate},
                     {"cpu_used_s", step.demand.used},
                     {"cpu_wait_s", step.demand.waited},
                     {"requests", outcomes}});
  }
  const LoadStep* best = figures.Best(options.limit_ms);
  return {{"mode", figures.mode},
          {"alone_ms", figures.service_ms.values},
          {"alone_cpu_used_s", figures.alone_demand.used},
          {"alone_cpu_wait_s", figures.alone_demand.waited},
          {"capacity", figures.Capacity()},
          {"best_rate", best != nullptr ? json(best->rate) : json(nullptr)},
          {"rates", steps}};
}

}  // namespace

void PrintIdleTables(const ServiceTitle& title, const IdleBenchOptions& options,
                     const IdleFigures& figures) {
  PrintTitle("Idle", title, options.workload);
  const CpuShares& idle = figures.idle;
  const CpuShares& busy = figures.busy;
  std::printf(
      "\n\n| CPU, of one core | idle, %.0f s | under requests, %.0f s | limit when idle |\n"
      "|---|---|---|---|\n",
      idle.seconds, busy.seconds);
  for (std::size_t rank = 0; rank < idle.ranks.size(); ++rank) {
    std::printf("| rank %zu | %s | %s | %g %% |\n", rank, ShareText(idle.ranks[rank], idle).c_str(),
                ShareText(busy.ranks[rank], busy).c_str(), 100 * kIdleCostLimit);
  }
  std::printf("| mpirun | %s | %s | |\n", ShareText(idle.mpirun, idle).c_str(),
              ShareText(busy.mpirun, busy).c_str());
  const WakeUp& wake_up = figures.wake_up;
  std::printf(
      "\nWake-up, %zu times; milliseconds: median (min-max)\n\n"
      "| idle for, s | first request | in quick succession | difference | in the pass "
      "| CPU wait | limit |\n|---|---|---|---|---|---|---|\n"
      "| %g | %s | %s | %s | %s | %s | %g |\n",
      wake_up.rounds.size(), options.wakeup_seconds, Spread(wake_up.First(), 2).c_str(),
      Spread(wake_up.Quick(), 2).c_str(), Spread(wake_up.Difference(), 2).c_str(),
      Spread(wake_up.ForwardDifference(), 2).c_str(),
      Spread(wake_up.CpuWaitDifference(), 2).c_str(), kWakeUpLimitMs);
}

void PrintIdleJson(const ServiceTitle& title, const IdleBenchOptions& options,
                   const IdleFigures& figures) {
  json rounds = json::array();
  for (const WakeUpRound& round : figures.wake_up.rounds) {
    json quick = json::array();
    for (const RequestTime& time : round.quick) {
      quick.push_back(ToJson(time));
    }
    rounds.push_back({{"first", ToJson(round.first)}, {"quick", quick}});
  }
  json result = Head("idle", title, options.workload);
  result["cpu"] = {{"idle", ToJson(figures.idle)},
                   {"under_requests", ToJson(figures.busy)},
                   {"idle_limit", kIdleCostLimit}};
  result["wake_up"] = {
      {"idle_seconds", options.wakeup_seconds}, {"limit_ms", kWakeUpLimitMs}, {"rounds", rounds}};
  PrintJson(result);
}

void PrintLoadTables(const ServiceTitle& title, const LoadOptions& options,
                     const std::vector<TransportFigures>& transports,
                     const std::vector<LoadFigures>& all) {
  PrintTitle("Load", title, options.workload);
  std::printf(
      "\n\nA request alone, %zu times on each in turns; milliseconds: median (min-max). Outside: "
      "without the server's waiting and computing.\n\n"
      "| transport | a request | outside |\n|---|---|---|\n",
      transports[0].socket.client.values.size());
  PrintTransports(transports[0], "");
  if (transports.size() == 2) {
    PrintTransports(transports[1], ", other");
    PrintTransportRatios(transports[0], transports[1]);
  }
  if (all.empty()) {
    return;
  }
  std::printf("\nPoisson arrivals for %g s at each rate; latencies from the scheduled arrival\n\n",
              options.seconds);
  PrintRates(options, all);
  std::printf(
      "\n\"never\": too few requests got a score. With fewer than 100 requests, p99 is the "
      "slowest. "
      "CPU wait: share of the time in which ranks were ready to run but had no CPU; if it is "
      "large, "
      "other programs used the machine.\n");
  PrintBest(options, all);
  if (transports.size() == 2 || options.with_page) {
    PrintLoadRatios(options, all);
  }
}

void PrintLoadJson(const ServiceTitle& title, const LoadOptions& options,
                   const std::vector<TransportFigures>& transports,
                   const std::vector<LoadFigures>& all) {
  json modes = json::array();
  for (const LoadFigures& figures : all) {
    modes.push_back(ToJson(figures, options));
  }
  json result = Head("load", title, options.workload);
  result["seconds"] = options.seconds;
  result["limit_ms"] = options.limit_ms;
  result["timeout_ms"] = options.timeout_ms;
  result["seed"] = options.seed;
  result["with_page"] = options.with_page;
  result["modes"] = modes;
  result["socket"] = ToJson(transports[0].socket);
  result["http"] = ToJson(transports[0].http);
  if (transports.size() == 2) {
    result["against"] = options.against.string();
    result["other_socket"] = ToJson(transports[1].socket);
    result["other_http"] = ToJson(transports[1].http);
  }
  PrintJson(result);
}

}  // namespace scorecast::bench
