#include "coordinator/transports/connection/fair_pool.h"

#include <algorithm>
#include <utility>

namespace scorecast::coordinator {

FairPool::FairPool(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

void FairPool::Post(ClientId id, Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_ending_) {
      return;
    }
    Client& client = clients_[id];
    if (client.waiting.empty()) {
      client.turn = turns_.insert(turns_.end(), id);
    }
    client.waiting.push_back(std::move(work));
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

std::list<FairPool::ClientId>::iterator FairPool::Next() {
  const auto idle = std::find_if(turns_.begin(), turns_.end(),
                                 [this](ClientId id) { return clients_.at(id).under_way == 0; });
  return idle == turns_.end() ? turns_.begin() : idle;
}

void FairPool::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !turns_.empty(); });
    if (turns_.empty()) {
      return;
    }
    const auto next = Next();
    const ClientId id = *next;
    Client& client = clients_.at(id);  // Stays in its place while work of it is under way.
    Work work = std::move(client.waiting.front());
    client.waiting.pop_front();
    ++client.under_way;
    if (client.waiting.empty()) {
      turns_.erase(next);
    }
    lock.unlock();
    work();
    work = nullptr;  // What it holds is freed without the lock.
    lock.lock();
    --client.under_way;
    if (!client.waiting.empty()) {
      turns_.splice(turns_.end(), turns_, client.turn);
    } else if (client.under_way == 0) {
      clients_.erase(id);
    }
  }
}

}  // namespace scorecast::coordinator
