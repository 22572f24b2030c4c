#include "bench/service/load_bench.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <stdexcept>

#include "bench/service/open_page.h"
#include "bench/service/token_request.h"
#include "launcher/client/client.h"

namespace scorecast::bench {
namespace {

constexpr int kOk = 200;

/// A request whose deadline passes while it is in a pass gets its reply after the pass. Upper bound
/// for the time of a pass.
constexpr auto kLastPassTime = std::chrono::seconds(60);

/// Distances between the numbers of requests, so that all differ: a request that was sent before
/// would be found in the cache.
constexpr std::uint64_t kRequestsOfStep = 1U << 24U;
constexpr std::uint64_t kRequestsOfAll = std::uint64_t{1} << 40U;

/// Progress of the measurement of one service.
struct Sweep {
  const ServiceProcess& service;
  bool has_page = false;
  LoadFigures figures;
  int breaches = 0;  ///< Number of last steps in succession that broke the limit.

  /// The number of a request: `step` 0 is that of requests alone. Services that are compared get
  /// the same requests; the one that is measured with its page and without gets others each time.
  std::uint64_t RequestNumber(std::uint64_t step, std::uint64_t id) const {
    return (has_page ? kRequestsOfAll : 0) + step * kRequestsOfStep + id;
  }

  bool is_over(const LoadOptions& options) const {
    return breaches == 2 || figures.steps.size() == static_cast<std::size_t>(options.max_rates);
  }
};

void MeasureServiceTime(Sweep& sweep, const LoadOptions& options, std::uint64_t number,
                        bool is_warm_up) {
  launcher::Client client(sweep.service.address());
  const v1::Request request =
      TokenRequest(options.workload, sweep.RequestNumber(0, number), options.vocab_size);
  const CpuDemand before = CpuDemandOf(sweep.service.Ranks());
  const auto begin = std::chrono::steady_clock::now();
  const v1::Response response = client.Call(request);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  if (!response.has_score()) {
    throw std::runtime_error("the service refused a request: " + response.error().message());
  }
  if (!is_warm_up) {
    sweep.figures.service_ms.values.push_back(took.count());
    sweep.figures.alone_demand += CpuDemandOf(sweep.service.Ranks()) - before;
  }
}

std::string InMs(const std::optional<double>& ms) {
  if (!ms) {
    return "-";
  }
  char text[32];
  std::snprintf(text, sizeof(text), "%.0f ms", *ms);
  return text;
}

void RunStep(Sweep& sweep, double capacity, const LoadOptions& options) {
  LoadFigures& figures = sweep.figures;
  const auto number = static_cast<int>(figures.steps.size());
  LoadStep step;
  step.rate = capacity * options.first_rate * std::pow(options.growth, number);
  const std::vector<double> arrivals = PoissonArrivals(
      step.rate, options.seconds, options.seed + static_cast<std::uint64_t>(number));
  char text[160];
  std::snprintf(text, sizeof(text), "load: %s, %.3g requests/s, %zu requests", figures.mode.c_str(),
                step.rate, arrivals.size());
  Progress(text);
  std::optional<OpenPage> page;
  if (sweep.has_page) {
    page.emplace(sweep.service.http_address());
  }
  const CpuDemand before = CpuDemandOf(sweep.service.Ranks());
  step.outcomes = RunOpenLoop(
      sweep.service.address(), arrivals,
      [&](std::uint64_t id) {
        const auto step_number = static_cast<std::uint64_t>(number) + 1;
        v1::Request request = TokenRequest(options.workload, sweep.RequestNumber(step_number, id),
                                           options.vocab_size);
        request.set_request_id(id);
        request.mutable_score()->set_timeout_ms(options.timeout_ms);
        return request;
      },
      std::chrono::milliseconds(options.timeout_ms) + kLastPassTime);
  step.demand = CpuDemandOf(sweep.service.Ranks()) - before;
  if (page) {
    page->Close();
  }
  std::snprintf(text, sizeof(text), "load: %s, %.3g requests/s: p50 %s, p99 %s",
                figures.mode.c_str(), step.rate, InMs(step.LatencyMs(0.5)).c_str(),
                InMs(step.LatencyMs(0.99)).c_str());
  Progress(text);
  sweep.breaches = step.KeepsLimit(options.limit_ms) ? 0 : sweep.breaches + 1;
  figures.steps.push_back(std::move(step));
}

}  // namespace

std::optional<double> LoadStep::LatencyMs(double share) const {
  std::vector<double> ms;
  for (const Outcome& outcome : outcomes) {
    if (outcome.code == kOk) {
      ms.push_back(1000 * outcome.latency);
    }
  }
  const auto place =
      static_cast<std::size_t>(std::ceil(share * static_cast<double>(outcomes.size())));
  if (place == 0 || place > ms.size()) {
    return std::nullopt;
  }
  std::sort(ms.begin(), ms.end());
  return ms[place - 1];
}

std::int64_t LoadStep::Count(int code) const {
  return std::count_if(outcomes.begin(), outcomes.end(),
                       [code](const Outcome& outcome) { return outcome.code == code; });
}

double LoadStep::Throughput() const {
  double last = 0;
  for (const Outcome& outcome : outcomes) {
    if (outcome.code == kOk) {
      last = std::max(last, outcome.arrival + outcome.latency);
    }
  }
  return last > 0 ? static_cast<double>(Count(kOk)) / last : 0;
}

bool LoadStep::KeepsLimit(double limit_ms) const {
  const std::optional<double> p99 = LatencyMs(0.99);
  return p99 && *p99 < limit_ms;
}

const LoadStep* LoadFigures::Best(double limit_ms) const {
  const auto found = std::find_if(steps.rbegin(), steps.rend(), [limit_ms](const LoadStep& step) {
    return step.KeepsLimit(limit_ms);
  });
  return found == steps.rend() ? nullptr : &*found;
}

std::vector<LoadFigures> RunLoadBench(const std::vector<LoadedService>& services,
                                      const LoadOptions& options) {
  std::vector<Sweep> sweeps;
  for (const LoadedService& service : services) {
    sweeps.push_back({service.service, service.has_page, {.mode = service.mode}});
  }
  Progress("load: time of a request alone");
  for (int round = -1; round < options.service_rounds; ++round) {
    for (Sweep& sweep : sweeps) {
      MeasureServiceTime(sweep, options, static_cast<std::uint64_t>(round + 2), round < 0);
    }
  }
  const auto is_over = [&](const Sweep& sweep) { return sweep.is_over(options); };
  for (int turn = 0; !std::all_of(sweeps.begin(), sweeps.end(), is_over); ++turn) {
    for (std::size_t place = 0; place < sweeps.size(); ++place) {
      // None is always the first.
      const std::size_t i = turn % 2 == 0 ? place : sweeps.size() - 1 - place;
      if (!is_over(sweeps[i])) {
        const Sweep& rates_of = sweeps[services[i].rates_of.value_or(i)];
        RunStep(sweeps[i], rates_of.figures.Capacity(), options);
      }
    }
  }
  std::vector<LoadFigures> all;
  for (Sweep& sweep : sweeps) {
    all.push_back(std::move(sweep.figures));
  }
  return all;
}

}  // namespace scorecast::bench
