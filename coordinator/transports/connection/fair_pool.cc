#include "coordinator/transports/connection/fair_pool.h"

#include <algorithm>
#include <utility>

namespace scorecast::coordinator {

FairPool::FairPool(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

void FairPool::Client::Add(std::uint64_t connection, Work work) {
  std::deque<Work>& own = waiting[connection];
  if (own.empty()) {
    turns.push_back(connection);
  }
  own.push_back(std::move(work));
}

FairPool::Work FairPool::Client::Take() {
  const auto own = waiting.find(turns.front());
  turns.pop_front();
  Work work = std::move(own->second.front());
  own->second.pop_front();
  if (own->second.empty()) {
    waiting.erase(own);
  } else {
    turns.push_back(own->first);
  }
  return work;
}

void FairPool::Post(const ClientId& id, Work work) {
  {
    const std::lock_guard lock(mutex_);
    if (is_ending_) {
      return;
    }
    Client& client = clients_[id.address];
    if (client.turns.empty()) {
      client.turn = turns_.insert(turns_.end(), id.address);
    }
    client.Add(id.connection, std::move(work));
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

std::list<FairPool::Address>::iterator FairPool::Next() {
  return std::min_element(turns_.begin(), turns_.end(), [this](const Address& a, const Address& b) {
    return clients_.at(a).under_way < clients_.at(b).under_way;
  });
}

void FairPool::Run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_ending_ || !turns_.empty(); });
    if (turns_.empty()) {
      return;
    }
    const auto next = Next();
    const auto own = clients_.find(*next);  // Stays in its place while work of it is under way.
    Client& client = own->second;
    Work work = client.Take();
    ++client.under_way;
    if (client.turns.empty()) {
      turns_.erase(next);
    }
    lock.unlock();
    work();
    work = nullptr;  // What it holds is freed without the lock.
    lock.lock();
    --client.under_way;
    if (!client.turns.empty()) {
      turns_.splice(turns_.end(), turns_, client.turn);
    } else if (client.under_way == 0) {
      clients_.erase(own);
    }
  }
}

}  // namespace scorecast::coordinator
