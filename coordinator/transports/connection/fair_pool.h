#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "coordinator/schedule/client_id.h"

namespace scorecast::coordinator {

/// Threads for long work, at which client addresses take turns, and at the turn of an address its
/// connections: much work of one address delays that of no other, however many connections post it.
/// A free thread goes to an address that occupies the fewest. The work of one connection begins in
/// the order in which it was posted. Safe to use from any thread.
class FairPool {
 public:
  using Work = std::function<void()>;

  explicit FairPool(int threads);
  /// See Join.
  ~FairPool() { Join(); }

  FairPool(const FairPool&) = delete;
  FairPool& operator=(const FairPool&) = delete;

  /// `work` throws nothing.
  void Post(const ClientId& client, Work work);

  /// Does the work that waits, then ends the threads. Work that is posted later is dropped.
  void Join();

 private:
  using Address = ClientName;

  /// The work of one address.
  struct Client {
    std::unordered_map<std::uint64_t, std::deque<Work>> waiting;  ///< Of each connection.
    std::deque<std::uint64_t> turns;  ///< The connections with work that waits.
    int under_way = 0;
    std::list<Address>::iterator turn;  ///< Its place in `turns_` if work of it waits.

    void Add(std::uint64_t connection, Work work);
    /// Takes the first work of the connection whose turn it is.
    Work Take();
  };

  void Run();
  /// The place in `turns_` of the address whose work is begun next.
  std::list<Address>::iterator Next();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Address, Client> clients_;  ///< Those with work that waits or is under way.
  std::list<Address> turns_;           ///< Addresses with work that waits.
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace scorecast::coordinator
