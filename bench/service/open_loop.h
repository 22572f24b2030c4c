#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "proto/scorecast.pb.h"

namespace scorecast::bench {

/// Times of a Poisson process of `rate` a second over `seconds`, the first at 0; at least one. They
/// follow from the seed.
std::vector<double> PoissonArrivals(double rate, double seconds, std::uint64_t seed);

/// What became of a request.
struct Outcome {
  static constexpr int kUnanswered = 0;

  double arrival = 0;      ///< Seconds from the run's begin: when it was to be sent.
  double sent_late = 0;    ///< Seconds after that when it was sent.
  double latency = 0;      ///< Seconds from `arrival` to its answer.
  int code = kUnanswered;  ///< 200, or the error's.
};

/// Sends a request at each of the times, whatever the answers do, over several connections, and
/// waits for the answers until `patience` after the last. Request i has the id i + 1, which
/// `make_request` sets. A latency counts from the time in `arrivals`, so that neither a client that
/// is behind nor a server that reads slowly hides what waits.
std::vector<Outcome> RunOpenLoop(const std::string& address, const std::vector<double>& arrivals,
                                 const std::function<v1::Request(std::uint64_t)>& make_request,
                                 std::chrono::milliseconds patience);

}  // namespace scorecast::bench
