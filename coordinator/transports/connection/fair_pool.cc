#include "coordinator/transports/connection/fair_pool.h"

#include <memory>
#include <string>

namespace scorecast::coordinator {
namespace {

/// Every piece of work counts alike.
constexpr double kTurn = 1;

}  // namespace

FairPool::FairPool(int threads) : root_(kTurn) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

void FairPool::Post(const ClientId& client, Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_ending_) {
      return;
    }
    FairShare& connection =
        root_.Named(client.network).Named(client.address).Named(std::to_string(client.connection));
    auto item = std::make_unique<Item>(connection, std::move(work));
    item.release()->Wait();  // Run takes it.
  }
  changed_.notify_one();
}

void FairPool::Join() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
  threads_.clear();
}

void FairPool::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || root_.has_waiting(); });
    if (!root_.has_waiting()) {
      return;
    }
    std::unique_ptr<Item> item(&static_cast<Item&>(root_.Begin()));
    lock.unlock();
    item->work();
    item->work = nullptr;  // What it holds is freed without the lock.
    lock.lock();
    item->End(kTurn);
    item.reset();
  }
}

}  // namespace scorecast::coordinator
