#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/metrics/families.h"
#include "coordinator/metrics/histogram.h"
#include "coordinator/service/request_observer.h"

namespace scorecast::coordinator {

/// If clients are named, this many clients have metrics of their own. All further clients count
/// together as kOtherClients, and so do addresses of which all requests lacked a right key.
inline constexpr std::size_t kMaxNamedClients = 100;
inline constexpr std::string_view kOtherClients = "other";
/// Name that stands for the endpoint if a request was refused before its endpoint was known.
inline constexpr std::string_view kNoEndpoint = "none";

/// Requests that have ended.
class RequestMetrics : public RequestObserver {
 public:
  /// `names_clients` says whether requests also count by the address of their client. If not, no
  /// address is kept.
  RequestMetrics(EndpointList endpoints, bool names_clients);

  void OnEnd(const RequestEnd& end) override;
  void OnIoWait(Clock::duration wait) override;
  Families Collect() const;
  /// Requests that have ended, of all endpoints and clients.
  std::int64_t ended() const;

 private:
  /// The responses of one endpoint.
  struct Responses {
    std::atomic<std::int64_t> items = 0;
    std::atomic<std::int64_t> prompt_tokens = 0;
    std::atomic<std::int64_t> cached_tokens = 0;
    std::atomic<std::int64_t> completion_tokens = 0;
    Histogram tokenize{DurationBounds()};
    Histogram queue{DurationBounds()};
    Histogram forward{DurationBounds()};
    Histogram total{DurationBounds()};

    void Add(const ResponseFigures& figures);
  };
  using EndpointAndCode = std::pair<std::string, int>;
  /// Endpoint, client and code.
  using ClientKind = std::tuple<std::string, std::string, int>;

  void Count(std::string_view endpoint, std::string_view client, int code);
  Families CollectRequests() const;
  Families CollectResponses() const;

  const bool names_clients_;
  Histogram io_wait_{DurationBounds()};
  std::map<std::string, Responses, std::less<>> responses_;  // The key is the endpoint's name.

  mutable std::mutex mutex_;
  std::map<EndpointAndCode, std::int64_t> requests_;
  // Both are empty unless clients are named.
  std::set<std::string, std::less<>> clients_;  // Clients that have metrics of their own.
  std::map<ClientKind, std::int64_t> client_requests_;
};

}  // namespace scorecast::coordinator
