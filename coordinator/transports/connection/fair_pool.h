#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "coordinator/schedule/client_id.h"
#include "coordinator/transports/connection/fair_share.h"

namespace scorecast::coordinator {

/// Threads for long work, at which the networks of clients take turns, at the turn of a network its
/// addresses, and at the turn of an address its connections: much work of one client delays that of
/// no other, however many connections and addresses post it. Work counts when it begins, so a free
/// thread does not go to a client that occupies others already. The work of one connection begins
/// in the order in which it was posted. Safe to use from any thread.
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
  /// Work until it is done. Each is a leaf of the shares.
  struct Item : FairShare {
    Item(FairShare& connection, Work own) : FairShare(connection), work(std::move(own)) {}
    Work work;
  };

  void Run();

  std::mutex mutex_;
  std::condition_variable changed_;
  FairShare root_;
  bool is_ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace scorecast::coordinator
