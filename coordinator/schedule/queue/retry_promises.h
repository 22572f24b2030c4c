#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "coordinator/schedule/client_id.h"
#include "coordinator/schedule/clock.h"

namespace scorecast::coordinator {

/// When refused requests were told to come back. Each of these promises keeps room for one request,
/// so a client's next refused request is told to come later than the last one. A promise lapses if
/// the request does not come for some time. Requests are told apart by digests of their contents.
///
/// Not safe for several threads.
class RetryPromises {
 public:
  // Bounds of the time for which a request is told to wait.
  static constexpr double kShortestSeconds = 1;
  static constexpr double kLongestSeconds = 600;

  /// Promises a client room for a request. There is room `room_in` seconds from now, if no other of
  /// the client's requests is to come before it. If there is one, this one is to come `apart`
  /// seconds after the last one at the earliest. Returns the whole seconds to tell it.
  std::int64_t Promise(const ClientId& client, std::uint64_t request, Clock::time_point now,
                       double room_in, double apart);
  /// Whether the request was told to come by now. If so, the promise is used up.
  bool Keep(const ClientId& client, std::uint64_t request, Clock::time_point now);
  /// Seconds that the client's requests that are still to come are apart, all together.
  double PromisedSeconds(const ClientId& client, Clock::time_point now);

 private:
  /// Upper bounds. Promises beyond them are told, but not remembered.
  static constexpr std::size_t kMostOfClient = 1024;
  static constexpr std::size_t kMost = std::size_t{1} << 16;

  struct Entry {
    std::uint64_t request = 0;
    Clock::time_point due;
    Clock::time_point lapses;  ///< When its room is free again.
    double apart = 0;
  };
  struct Client {
    std::vector<Entry> entries;  ///< Not empty.
    Clock::time_point last;      ///< From when on there is room for the request promised last.
  };

  /// The client without what has lapsed. Null if nothing is left.
  Client* Find(const ClientId& client, Clock::time_point now);
  void RemoveLapsed(Client& client, Clock::time_point now);
  /// At most once a second, because it looks at all of them.
  void RemoveAllLapsed(Clock::time_point now);

  std::map<ClientId, Client> clients_;
  std::size_t remembered_ = 0;  ///< Entries of all clients.
  Clock::time_point cleared_;   ///< When those that had lapsed were removed last.
};

}  // namespace scorecast::coordinator
