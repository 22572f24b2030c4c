#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "proto/scorecast.pb.h"

namespace scorecast::bench {

/// Times, in seconds, of a Poisson process with `rate` events per second for `seconds` seconds. The
/// first is 0, so that there is at least one. The same seed gives the same times.
std::vector<double> PoissonArrivals(double rate, double seconds, std::uint64_t seed);

/// The outcome of a request.
struct Outcome {
  static constexpr int kNoReply = 0;

  double arrival = 0;    ///< When it should be sent, in seconds from the run's beginning.
  double sent_late = 0;  ///< How much later it was sent, in seconds.
  double latency = 0;    ///< From `arrival` to its reply, in seconds.
  int code = kNoReply;   ///< 200, or the error's code.
};

/// Sends a request at each of the times, without waiting for replies, over several connections.
/// After the last request it waits for the replies for at most `patience`. Request i has the id i +
/// 1, which `make_request` sets. A latency counts from the time in `arrivals`, so that it includes
/// all waiting, even if the client is behind or the server reads slowly.
std::vector<Outcome> RunOpenLoop(const std::string& address, const std::vector<double>& arrivals,
                                 const std::function<v1::Request(std::uint64_t)>& make_request,
                                 std::chrono::milliseconds patience);

}  // namespace scorecast::bench
