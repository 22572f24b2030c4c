#include "coordinator/metrics/request_metrics.h"

#include <chrono>
#include <utility>

namespace scorecast::coordinator {
namespace {

double Seconds(double milliseconds) { return milliseconds / 1000; }

double Value(const std::atomic<std::int64_t>& count) {
  return static_cast<double>(count.load(std::memory_order_relaxed));
}

void Add(std::atomic<std::int64_t>& count, std::int64_t more) {
  count.fetch_add(more, std::memory_order_relaxed);
}

}  // namespace

RequestMetrics::RequestMetrics(EndpointList endpoints, bool names_clients)
    : names_clients_(names_clients) {
  // All entries are made here, so that the map needs no lock, and every metric exists from the
  // start.
  for (const Endpoint* endpoint : endpoints) {
    responses_.try_emplace(std::string(endpoint->name()));
  }
}

void RequestMetrics::Responses::Add(const ResponseFigures& figures) {
  coordinator::Add(items, figures.items);
  coordinator::Add(prompt_tokens, figures.usage.prompt_tokens);
  coordinator::Add(cached_tokens, figures.usage.cached_tokens);
  coordinator::Add(completion_tokens, figures.usage.completion_tokens);
  tokenize.Observe(Seconds(figures.timings.tokenize_ms));
  queue.Observe(Seconds(figures.timings.queue_ms));
  forward.Observe(Seconds(figures.timings.forward_ms));
  total.Observe(Seconds(figures.timings.total_ms));
}

void RequestMetrics::OnEnd(const RequestEnd& end) {
  const std::string_view endpoint = end.endpoint == nullptr ? kNoEndpoint : end.endpoint->name();
  if (end.response != nullptr) {
    if (const auto found = responses_.find(endpoint); found != responses_.end()) {
      found->second.Add(end.response->figures());
    }
  }
  Count(endpoint, end.client, end.code);
}

void RequestMetrics::OnIoWait(Clock::duration wait) {
  io_wait_.Observe(std::chrono::duration<double>(wait).count());
}

void RequestMetrics::Count(std::string_view endpoint, std::string_view client, int code) {
  const std::lock_guard lock(mutex_);
  ++requests_[{std::string(endpoint), code}];
  if (!names_clients_) {
    return;
  }
  if (!clients_.contains(client)) {
    if (!client.empty() && clients_.size() < kMaxNamedClients) {
      clients_.emplace(client);
    } else {
      client = kOtherClients;
    }
  }
  ++client_requests_[{std::string(endpoint), std::string(client), code}];
}

std::int64_t RequestMetrics::ended() const {
  const std::lock_guard lock(mutex_);
  std::int64_t ended = 0;
  for (const auto& [kind, count] : requests_) {
    ended += count;
  }
  return ended;
}

Families RequestMetrics::Collect() const {
  Families families = CollectRequests();
  Append(families, CollectResponses());
  return families;
}

Families RequestMetrics::CollectRequests() const {
  std::map<EndpointAndCode, std::int64_t> requests;
  std::map<ClientKind, std::int64_t> client_requests;
  {
    const std::lock_guard lock(mutex_);
    requests = requests_;
    client_requests = client_requests_;
  }
  Families families;
  prometheus::MetricFamily& counted = families.emplace_back(CounterFamily(
      "scorecast_requests_total", "Requests that have ended, by endpoint and HTTP status code."));
  for (const auto& [kind, count] : requests) {
    const auto& [endpoint, code] = kind;
    AddValue(counted, {{"endpoint", endpoint}, {"code", std::to_string(code)}},
             static_cast<double>(count));
  }
  if (!names_clients_) {
    return families;
  }
  prometheus::MetricFamily& by_client = families.emplace_back(CounterFamily(
      "scorecast_client_requests_total",
      "The same requests, by endpoint, client and HTTP status code: the name of its key, or "
      "its address."));
  for (const auto& [kind, count] : client_requests) {
    const auto& [endpoint, client, code] = kind;
    AddValue(by_client,
             {{"endpoint", endpoint}, {"client", client}, {"code", std::to_string(code)}},
             static_cast<double>(count));
  }
  return families;
}

Families RequestMetrics::CollectResponses() const {
  prometheus::MetricFamily items = CounterFamily(
      "scorecast_items_total", "Items, documents and questions of requests with a response.");
  prometheus::MetricFamily prompt =
      CounterFamily("scorecast_prompt_tokens_total", "Prompt tokens of requests with a response.");
  prometheus::MetricFamily cached =
      CounterFamily("scorecast_cached_prompt_tokens_total",
                    "Prompt tokens of requests with a response, whose K/V was in the cache.");
  prometheus::MetricFamily generated =
      CounterFamily("scorecast_completion_tokens_total", "Tokens generated for responses.");
  prometheus::MetricFamily phases =
      HistogramFamily("scorecast_request_phase_seconds",
                      "Time of a request with a response in a phase: tokenize, queue or forward.");
  prometheus::MetricFamily total =
      HistogramFamily("scorecast_request_seconds",
                      "Time of a request with a response, from the arrival of its first byte to "
                      "the end of its last "
                      "pass.");
  prometheus::MetricFamily io_wait =
      HistogramFamily("scorecast_io_wait_seconds",
                      "Time for which the first byte of a request waited to be read; below 0.01 it "
                      "counts as 0.");
  io_wait.metric.push_back(io_wait_.Collect({}));
  for (const auto& [endpoint, responses] : responses_) {
    const MetricLabels labels = {{"endpoint", endpoint}};
    AddValue(items, labels, Value(responses.items));
    AddValue(prompt, labels, Value(responses.prompt_tokens));
    AddValue(cached, labels, Value(responses.cached_tokens));
    AddValue(generated, labels, Value(responses.completion_tokens));
    const auto add_phase = [&](const char* phase, const Histogram& histogram) {
      phases.metric.push_back(histogram.Collect({{"endpoint", endpoint}, {"phase", phase}}));
    };
    add_phase("tokenize", responses.tokenize);
    add_phase("queue", responses.queue);
    add_phase("forward", responses.forward);
    total.metric.push_back(responses.total.Collect(labels));
  }
  return {std::move(items),  std::move(prompt), std::move(cached), std::move(generated),
          std::move(phases), std::move(total),  std::move(io_wait)};
}

}  // namespace scorecast::coordinator
