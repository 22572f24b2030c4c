#include "launcher/client/retrying_call.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

namespace scorecast::launcher {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds kFirstPause{50};
constexpr milliseconds kLongestPause{1000};
constexpr auto kRefusedTime = std::chrono::seconds(10);
constexpr int kMostResends = 3;

class Attempts {
 public:
  Attempts(const ServerLocation& location, const v1::Request& request, const ClientOptions& options,
           const std::function<void(const v1::Response&)>& on_delta)
      : location_(location), request_(request), options_(options), on_delta_(on_delta) {
    if (options_.timeout) {
      const Clock::time_point end = Clock::now() + *options_.timeout;
      options_.deadline = options_.deadline ? std::min(*options_.deadline, end) : end;
    }
  }

  v1::Response Run() {
    while (true) {
      bool is_connected = false;
      try {
        Client client(location_.Address(), options_);
        is_connected = true;
        refused_since_.reset();
        client.Send(request_);
        return Receive(client);
      } catch (const ConnectionLost&) {
        if (!MayTryAgain(is_connected)) {
          throw;
        }
      }
      std::this_thread::sleep_for(pause_);
      pause_ = std::min(2 * pause_, kLongestPause);
    }
  }

 private:
  v1::Response Receive(Client& client) {
    while (true) {
      v1::Response response = client.Receive();
      if (!response.has_chunked_delta()) {
        return response;
      }
      has_delta_ = true;
      if (on_delta_) {
        on_delta_(response);
      }
    }
  }

  bool MayTryAgain(bool is_connected) {
    const Clock::time_point next = Clock::now() + pause_;
    const bool has_time = !options_.deadline || next < *options_.deadline;
    if (!is_connected && !refused_since_) {
      refused_since_ = Clock::now();
    }
    const bool is_worth_it =
        is_connected ? ++resends_ <= kMostResends : next < *refused_since_ + kRefusedTime;
    return has_time && is_worth_it && !has_delta_;
  }

  const ServerLocation& location_;
  const v1::Request& request_;
  ClientOptions options_;
  const std::function<void(const v1::Response&)>& on_delta_;
  milliseconds pause_ = kFirstPause;
  std::optional<Clock::time_point> refused_since_;  ///< Since the last connection.
  int resends_ = 0;
  bool has_delta_ = false;
};

}  // namespace

v1::Response RetryingCall(const ServerLocation& location, const v1::Request& request,
                          const ClientOptions& options,
                          const std::function<void(const v1::Response&)>& on_delta) {
  return Attempts(location, request, options, on_delta).Run();
}

}  // namespace scorecast::launcher
