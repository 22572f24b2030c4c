#include "coordinator/transports/connection/turn_pool.h"

#include <exception>
#include <utility>

namespace scorecast::coordinator {

TurnPool::TurnPool(Options options)
    : options_(std::move(options)),
      quantum_seconds_(std::chrono::duration<double>(options_.quantum).count()) {
  const std::lock_guard lock(mutex_);
  for (int i = 0; i < options_.under_way; ++i) {
    AddThread();
  }
}

void TurnPool::Post(const ClientId& client, Work work) {
  const std::lock_guard lock(mutex_);
  if (is_ending_) {
    return;
  }
  waiting_[client].fresh.push_back(std::move(work));
  order_.Wait(client, TurnOrder::Work::kNew);
  GiveTurns(/*caller_is_free=*/false);
}

void TurnPool::Join() {
  Threads threads;
  {
    std::unique_lock lock(mutex_);
    is_ending_ = true;
    has_work_.notify_all();
    all_ended_.wait(lock, [this] { return threads_.empty(); });
    threads.swap(ended_);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void TurnPool::AddThread() {
  const auto self = threads_.emplace(threads_.end());
  try {
    *self = std::thread([this, self] { Run(self); });
  } catch (...) {
    threads_.erase(self);
    throw;
  }
  ++free_threads_;
}

bool TurnPool::HasThread() {
  if (first_.size() < free_threads_) {
    return true;
  }
  if (threads_.size() >= options_.max_begun) {
    return false;
  }
  for (std::thread& thread : ended_) {
    thread.join();  // Only its stack is left to be freed.
  }
  ended_.clear();
  try {
    AddThread();
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

void TurnPool::GiveTurns(bool caller_is_free) {
  while (under_way_ < options_.under_way) {
    std::optional<TurnOrder::Choice> choice = order_.Next(options_.max_begun - order_.begun());
    if (choice && choice->work == TurnOrder::Work::kNew && !HasThread()) {
      choice = order_.Next(/*room=*/0);
    }
    if (!choice) {
      break;
    }
    order_.BeginTurn(*choice, quantum_seconds_);
    ++under_way_;
    const auto own = waiting_.find(choice->client);
    Waiting& waiting = own->second;
    if (choice->work == TurnOrder::Work::kBegun) {
      Turn& turn = *waiting.begun.front();
      waiting.begun.pop_front();
      turn.is_under_way_ = true;
      turn.resumed_.notify_one();
    } else {
      first_.push_back({choice->client, std::move(waiting.fresh.front())});
      waiting.fresh.pop_front();
      if (!caller_is_free || first_.size() > 1) {
        has_work_.notify_one();
      }
    }
    if (waiting.begun.empty() && waiting.fresh.empty()) {
      waiting_.erase(own);
    }
  }
  num_waiting_.store(order_.waiting(), std::memory_order_relaxed);
}

void TurnPool::End(Turn& turn, bool is_done) {
  const std::chrono::duration<double> seconds = options_.now() - turn.since_;
  turn.seconds_ += seconds.count();
  order_.EndTurn(turn.client_, quantum_seconds_, seconds.count(), is_done);
  --under_way_;
}

void TurnPool::GiveWay(Turn& turn) {
  std::unique_lock lock(mutex_);
  End(turn, /*is_done=*/false);
  turn.is_under_way_ = false;
  waiting_[turn.client_].begun.push_back(&turn);
  order_.Wait(turn.client_, TurnOrder::Work::kBegun);
  GiveTurns(/*caller_is_free=*/false);
  turn.resumed_.wait(lock, [&] { return turn.is_under_way_; });
  turn.since_ = options_.now();
}

void TurnPool::Run(Threads::iterator self) {
  std::unique_lock lock(mutex_);
  for (;;) {
    has_work_.wait(lock, [this] { return !first_.empty() || (is_ending_ && IsIdle()); });
    --free_threads_;
    if (first_.empty()) {
      break;
    }
    First first = std::move(first_.front());
    first_.pop_front();
    Turn turn(*this, std::move(first.client));
    turn.since_ = options_.now();
    lock.unlock();
    first.work(turn);
    first.work = nullptr;  // What it holds is freed without the lock.
    lock.lock();
    End(turn, /*is_done=*/true);
    ++free_threads_;
    GiveTurns(/*caller_is_free=*/true);
    if (is_ending_ && IsIdle()) {
      has_work_.notify_all();
    } else if (first_.empty() && free_threads_ > static_cast<std::size_t>(options_.under_way)) {
      --free_threads_;
      break;
    }
  }
  ended_.splice(ended_.end(), threads_, self);
  if (threads_.empty()) {
    all_ended_.notify_all();
  }
}

}  // namespace scorecast::coordinator
