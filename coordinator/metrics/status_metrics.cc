#include "coordinator/metrics/status_metrics.h"

#include <cstddef>
#include <string>
#include <utility>

#include "proto/plan/cluster_status.h"
#include "proto/plan/rank_work.h"

namespace scorecast::coordinator {
namespace {

using prometheus::MetricFamily;

double Number(std::int64_t value) { return static_cast<double>(value); }

Families QueueFamilies(const SchedulerStatus& status) {
  return {
      Gauge("scorecast_queue_requests", "Requests that wait for their first pass.",
            Number(status.waiting_jobs)),
      Gauge("scorecast_queue_tokens", "Tokens of the requests that wait for their first pass.",
            Number(status.waiting_tokens)),
      Gauge("scorecast_queue_bytes", "Memory of the requests that wait for their first pass.",
            Number(status.waiting_bytes)),
      Gauge("scorecast_queue_oldest_seconds",
            "Time for which the oldest request has waited for its first pass.",
            status.oldest_wait_seconds),
      Gauge("scorecast_queue_predicted_seconds", "Predicted time of all prompt rows that wait.",
            status.predicted_seconds),
      Gauge("scorecast_running_requests", "Requests that have begun and are not computed.",
            Number(status.running_jobs)),
      Gauge("scorecast_running_completions", "Completions that are being generated.",
            Number(status.running_completions)),
  };
}

Families PassTimeFamilies(const PassTimes& times) {
  MetricFamily rates =
      GaugeFamily("scorecast_predicted_pass_seconds",
                  "Predicted time of one of each that a pass computes, and of a pass beyond "
                  "these, which is negative if its first rows take less than others.");
  AddValue(rates, {{"of", "pass"}}, times.rates.overhead);
  AddValue(rates, {{"of", "row"}}, times.rates.row);
  AddValue(rates, {{"of", "key"}}, times.rates.key);
  AddValue(rates, {{"of", "read"}}, times.rates.read);
  AddValue(rates, {{"of", "label"}}, times.rates.label);
  AddValue(rates, {{"of", "product"}}, times.rates.product);
  AddValue(rates, {{"of", "top"}}, times.rates.top);
  AddValue(rates, {{"of", "draw"}}, times.rates.draw);
  AddValue(rates, {{"of", "adjusted"}}, times.rates.adjusted);
  return {
      std::move(rates),
      Gauge("scorecast_prediction_error",
            "Median relative error of the predicted times of the last 32 passes.", times.error),
      Gauge("scorecast_pass_bound_seconds", "Upper bound on the predicted time of a pass.",
            times.bound_seconds),
  };
}

Families CacheFamilies(const SchedulerStatus& status, std::int64_t page_bytes) {
  const BlockCacheCounters& cache = status.cache;
  return {
      Gauge("scorecast_kv_pages", "All pages of K/V.", Number(status.kv_pages)),
      Gauge("scorecast_kv_usage",
            "Share of the pages of K/V that unfinished requests hold, from 0 to 1.",
            status.kv_usage()),
      Counter("scorecast_cache_lookup_tokens_total",
              "Tokens of prefixes and blocks that were looked up in the K/V cache.",
              Number(cache.asked_tokens)),
      Counter("scorecast_cache_hit_tokens_total", "Those of them that were found.",
              Number(cache.hit_tokens)),
      Counter("scorecast_cache_evicted_pages_total",
              "Pages that were evicted from the K/V cache to make room for others.",
              Number(cache.evicted_pages)),
      Gauge("scorecast_cache_pages", "Pages in the K/V cache.", Number(cache.cached_pages)),
      Gauge("scorecast_cache_bytes", "Bytes of these pages on the rank with the most K/V heads.",
            Number(cache.cached_pages * page_bytes)),
  };
}

Families RankFamilies(const proto::ClusterStatus& cluster) {
  MetricFamily compute =
      CounterFamily("scorecast_rank_compute_seconds_total",
                    "Time in passes in which the rank computed, and did not wait for the others.");
  MetricFamily wait = CounterFamily("scorecast_rank_wait_seconds_total",
                                    "Time in passes in which the rank exchanged data with the "
                                    "others or waited for them.");
  MetricFamily seconds =
      CounterFamily("scorecast_rank_operation_seconds_total",
                    "The same by operation: exchange, share, broadcast or gather.");
  MetricFamily bytes = CounterFamily("scorecast_rank_received_bytes_total",
                                     "Bytes of other ranks that the rank received, or read in "
                                     "shared memory, by operation.");
  MetricFamily heard =
      GaugeFamily("scorecast_rank_silence_seconds", "Time since the rank's last report.");
  for (std::size_t r = 0; r < cluster.ranks.size(); ++r) {
    const proto::RankStatus& status = cluster.ranks[r];
    const std::string rank = std::to_string(r);
    AddValue(compute, {{"rank", rank}}, status.work.compute_seconds);
    AddValue(wait, {{"rank", rank}}, status.work.wait_seconds());
    for (const proto::RankOperation operation : proto::kRankOperations) {
      const proto::RankWork::Cost& cost = status.work.of(operation);
      const MetricLabels labels = {{"rank", rank}, {"operation", std::string(Name(operation))}};
      AddValue(seconds, labels, cost.seconds);
      AddValue(bytes, labels, static_cast<double>(cost.bytes));
    }
    AddValue(heard, {{"rank", rank}}, status.seconds_since_heard);
  }
  return {std::move(compute), std::move(wait), std::move(seconds), std::move(bytes),
          std::move(heard)};
}

Families ClientFamilies(const ClientsStatus& clients) {
  MetricFamily held = GaugeFamily("scorecast_held_bytes",
                                  "Bytes that are held of requests being read, and of replies.");
  AddValue(held, {{"of", "requests"}}, Number(clients.held_request_bytes));
  AddValue(held, {{"of", "replies"}}, Number(clients.held_reply_bytes));
  MetricFamily refusals =
      CounterFamily("scorecast_refusals_total",
                    "Requests and connections that were refused, by the reason of the error.");
  for (const auto& [reason, count] : clients.refusals) {
    AddValue(refusals, {{"reason", reason}}, Number(count));
  }
  return {
      Gauge("scorecast_connections", "Open connections.", static_cast<double>(clients.connections)),
      Gauge("scorecast_client_addresses", "Distinct addresses of these connections.",
            static_cast<double>(clients.addresses)),
      Gauge("scorecast_requests_in_flight", "Requests that were read, and have no reply yet.",
            Number(clients.requests_in_flight)),
      std::move(held),
      std::move(refusals),
  };
}

}  // namespace

Families FamiliesOf(const ServiceStatus& status, std::int64_t page_bytes) {
  Families families = QueueFamilies(status.scheduler);
  Append(families, PassTimeFamilies(status.scheduler.pass_times));
  Append(families, CacheFamilies(status.scheduler, page_bytes));
  Append(families, RankFamilies(status.cluster));
  if (status.clients) {
    Append(families, ClientFamilies(*status.clients));
  }
  return families;
}

}  // namespace scorecast::coordinator
