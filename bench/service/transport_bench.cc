#include "bench/service/transport_bench.h"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

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

std::vector<TransportFigures> RunTransportBench(const std::vector<const ServiceProcess*>& services,
                                                const Workload& workload, std::int64_t vocab_size,
                                                int rounds) {
  Progress("load: requests on the socket and over HTTP, in turns");
  struct Side {
    explicit Side(const ServiceProcess& service)
        : socket(service.address()), http(service.http_address()) {}
    launcher::Client socket;
    HttpClient http;
    TransportFigures figures;
  };
  std::vector<std::unique_ptr<Side>> sides;
  for (const ServiceProcess* service : services) {
    sides.push_back(std::make_unique<Side>(*service));
  }
  std::uint64_t number = 1U << 20U;  // Requests of the other measurements have other numbers.
  for (int round = -1; round < rounds; ++round) {
    const v1::Request on_socket = TokenRequest(workload, ++number, vocab_size);
    const v1::Request over_http = TokenRequest(workload, ++number, vocab_size);
    for (std::size_t i = 0; i < sides.size(); ++i) {
      Side& side = *sides[round % 2 == 0 ? i : sides.size() - 1 - i];  // None is always the first.
      TransportFigures warm_up;
      TransportFigures& of_round = round < 0 ? warm_up : side.figures;
      CallOnSocket(side.socket, on_socket, of_round.socket);
      CallOverHttp(side.http, over_http, of_round.http);
    }
  }
  std::vector<TransportFigures> all;
  for (const std::unique_ptr<Side>& side : sides) {
    all.push_back(std::move(side->figures));
  }
  return all;
}

}  // namespace scorecast::bench
