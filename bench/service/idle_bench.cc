#include "bench/service/idle_bench.h"

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "bench/service/cpu_time.h"
#include "bench/service/token_request.h"
#include "launcher/client/client.h"

namespace scorecast::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kBusyTime = std::chrono::seconds(2);

void BeIdle(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

/// Sends requests one after another, all different.
class Caller {
 public:
  Caller(const ServiceProcess& service, const IdleBenchOptions& options)
      : client_(service.address()),
        options_(options),
        ranks_(service.Ranks()),
        waited_(CpuDemandOf(ranks_).waited) {}

  RequestTime Call() {
    const v1::Request request = TokenRequest(options_.workload, ++number_, options_.vocab_size);
    const Clock::time_point begin = Clock::now();
    const v1::Response response = client_.Call(request);
    const std::chrono::duration<double, std::milli> took = Clock::now() - begin;
    if (!response.has_score()) {
      throw std::runtime_error("the service refused a request: " + response.error().message());
    }
    const v1::Timings& timings = response.score().timings();
    // Read after requests only. Reading before the first request of a round would wake the machine
    // up, and idle ranks do not wait for a CPU.
    const double waited = CpuDemandOf(ranks_).waited;
    const double wait_ms =
        1000 * (waited - std::exchange(waited_, waited)) / static_cast<double>(ranks_.size());
    return {took.count(), timings.queue_ms(), timings.forward_ms(), wait_ms};
  }

  std::vector<RequestTime> CallQuickly() {
    std::vector<RequestTime> times;
    for (int i = 0; i < options_.quick_requests; ++i) {
      times.push_back(Call());
    }
    return times;
  }

 private:
  launcher::Client client_;
  const IdleBenchOptions& options_;
  const std::vector<pid_t> ranks_;
  double waited_;
  std::uint64_t number_ = 0;
};

/// CPU time that the service's processes use during `work`.
template <typename Work>
CpuShares MeasureCpu(const ServiceProcess& service, Work work) {
  std::vector<pid_t> processes = service.Ranks();
  processes.push_back(service.pid());
  std::vector<double> before;
  for (const pid_t pid : processes) {
    before.push_back(CpuSeconds(pid));
  }
  const Clock::time_point begin = Clock::now();
  work();
  CpuShares shares;
  shares.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  for (std::size_t i = 0; i < processes.size(); ++i) {
    shares.ranks.push_back((CpuSeconds(processes[i]) - before[i]) / shares.seconds);
  }
  shares.mpirun = shares.ranks.back();
  shares.ranks.pop_back();
  return shares;
}

template <typename Time>
Samples SamplesOf(const std::vector<RequestTime>& times, Time time) {
  Samples samples;
  for (const RequestTime& each : times) {
    samples.values.push_back(time(each));
  }
  return samples;
}

double Client(const RequestTime& time) { return time.client_ms; }
double Forward(const RequestTime& time) { return time.forward_ms; }
double CpuWait(const RequestTime& time) { return time.cpu_wait_ms; }

template <typename Time>
Samples Differences(const std::vector<WakeUpRound>& rounds, Time time) {
  Samples samples;
  for (const WakeUpRound& round : rounds) {
    samples.values.push_back(time(round.first) - SamplesOf(round.quick, time).Median());
  }
  return samples;
}

}  // namespace

double CpuShares::Resolution() const { return CpuTick() / seconds; }

Samples WakeUp::First() const {
  Samples samples;
  for (const WakeUpRound& round : rounds) {
    samples.values.push_back(round.first.client_ms);
  }
  return samples;
}

Samples WakeUp::Quick() const {
  Samples samples;
  for (const WakeUpRound& round : rounds) {
    const Samples of_round = SamplesOf(round.quick, Client);
    samples.values.insert(samples.values.end(), of_round.values.begin(), of_round.values.end());
  }
  return samples;
}

Samples WakeUp::Difference() const { return Differences(rounds, Client); }
Samples WakeUp::ForwardDifference() const { return Differences(rounds, Forward); }
Samples WakeUp::CpuWaitDifference() const { return Differences(rounds, CpuWait); }

IdleFigures RunIdleBench(const ServiceProcess& service, const IdleBenchOptions& options) {
  Caller caller(service, options);
  caller.CallQuickly();  // Touches every buffer.
  IdleFigures figures;
  char text[96];
  std::snprintf(text, sizeof(text), "idle: cost over %g s", options.cost_seconds);
  Progress(text);
  figures.idle = MeasureCpu(service, [&] { BeIdle(options.cost_seconds); });
  Progress("idle: the same under requests");
  figures.busy = MeasureCpu(service, [&] {
    const Clock::time_point begin = Clock::now();
    while (Clock::now() - begin < kBusyTime) {
      caller.Call();
    }
  });
  for (int round = 0; round < options.wakeup_rounds; ++round) {
    std::snprintf(text, sizeof(text), "idle: wake-up after %g s, %d of %d", options.wakeup_seconds,
                  round + 1, options.wakeup_rounds);
    Progress(text);
    BeIdle(options.wakeup_seconds);
    WakeUpRound times;
    times.first = caller.Call();
    times.quick = caller.CallQuickly();
    figures.wake_up.rounds.push_back(std::move(times));
  }
  return figures;
}

}  // namespace scorecast::bench
