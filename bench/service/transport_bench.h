#pragma once

#include <cstdint>
#include <vector>

#include "bench/samples.h"
#include "bench/service/service_process.h"
#include "bench/workload.h"

namespace scorecast::bench {

/// The most by which a request may take longer over HTTP, in milliseconds.
inline constexpr double kHttpLimitMs = 0.3;

/// Times of the same number of requests, in milliseconds.
struct TransportTimes {
  Samples client;   ///< As the client sees them.
  Samples outside;  ///< Without the server's waiting and computing: the cost of the transport.
};

struct TransportFigures {
  TransportTimes socket;
  TransportTimes http;
};

/// Sends requests one at a time, all different: in each round one on the request socket and one
/// over HTTP of each service, which get the same requests. Returns the figures of each service.
std::vector<TransportFigures> RunTransportBench(const std::vector<const ServiceProcess*>& services,
                                                const Workload& workload, std::int64_t vocab_size,
                                                int rounds);

}  // namespace scorecast::bench
