#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace scorecast::coordinator {

/// Threads for long work, at which clients take turns: a client that posts much work delays its own
/// work, and not that of others. While other clients wait, a client occupies one thread. The work
/// of one client begins in the order in which it was posted. Safe to use from any thread.
class FairPool {
 public:
  using ClientId = std::uint64_t;
  using Work = std::function<void()>;

  explicit FairPool(int threads);
  /// See Join.
  ~FairPool() { Join(); }

  FairPool(const FairPool&) = delete;
  FairPool& operator=(const FairPool&) = delete;

  void Post(ClientId client, Work work);

  /// Does the work that waits, then ends the threads. Work that is posted later is dropped.
  void Join();

 private:
  struct Client {
    std::deque<Work> waiting;
    int under_way = 0;
    std::list<ClientId>::iterator turn;  ///< Its place in `turns_` if work of it waits.
  };

  void Run();
  /// The place in `turns_` of the client whose work is begun next.
  std::list<ClientId>::iterator Next();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::unordered_map<ClientId, Client> clients_;  ///< Those with work that waits or is under way.
  std::list<ClientId> turns_;                     ///< Clients with work that waits.
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace scorecast::coordinator
