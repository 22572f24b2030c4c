#include "bench/service/transport_bench.h"

#include <chrono>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "bench/progress.h"
#include "bench/service/http_client.h"
#include "bench/service/token_request.h"
#include "launcher/client/client.h"

namespace scorecast::bench {
namespace {

using Clock = std::chrono::steady_clock;

double MsSince(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void Add(TransportTimes& times, double client_ms, double server_ms) {
  times.client.values.push_back(client_ms);
  times.outside.values.push_back(client_ms - server_ms);
}

void CallOnSocket(launcher::Client& client, const v1::Request& request, TransportTimes& times) {
  const Clock::time_point begin = Clock::now();
  const v1::Response response = client.Call(request);
  const double took = MsSince(begin);
  if (!response.has_score()) {
    throw std::runtime_error("the service refused a request: " + response.error().message());
  }
  const v1::Timings& timings = response.score().timings();
  Add(times, took, timings.queue_ms() + timings.forward_ms());
}

void CallOverHttp(HttpClient& client, const v1::Request& request, TransportTimes& times) {
  const std::string body = JsonBody(request);
  const Clock::time_point begin = Clock::now();
  const std::string response = client.Post("/v1/score", body);
  const double took = MsSince(begin);
  const nlohmann::json timings = nlohmann::json::parse(response).at("timings");
  Add(times, took, timings.at("queue_ms").get<double>() + timings.at("forward_ms").get<double>());
}

}  // namespace

TransportFigures RunTransportBench(const ServiceProcess& service, const Workload& workload,
                                   std::int64_t vocab_size, int rounds) {
  Progress("load: requests on the socket and over HTTP, in turns");
  launcher::Client socket(service.address());
  HttpClient http(service.http_address());
  std::uint64_t number = 1U << 20U;  // Requests of the other measurements have smaller numbers.
  const auto next = [&] { return TokenRequest(workload, ++number, vocab_size); };
  TransportFigures figures;
  TransportFigures warm_up;
  for (int round = -1; round < rounds; ++round) {
    TransportFigures& of_round = round < 0 ? warm_up : figures;
    CallOnSocket(socket, next(), of_round.socket);
    CallOverHttp(http, next(), of_round.http);
  }
  return figures;
}

}  // namespace scorecast::bench
