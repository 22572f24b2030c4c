#include "coordinator/transports/connection/patient_pool.h"

#include <chrono>
#include <utility>

namespace scorecast::coordinator {
namespace {

/// What the latest work counts in the mean.
constexpr double kLatest = 0.25;

}  // namespace

PatientPool::PatientPool(Clock::duration patience)
    : patience_(patience), watch_([this] { Watch(); }) {}

PatientPool::Work PatientPool::Turn::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(work_, nullptr);
}

void PatientPool::Post(const ClientId& client, Work work) {
  const auto turn = std::make_shared<Turn>(std::move(work));
  {
    const std::lock_guard lock(mutex_);
    if (is_ending_) {
      return;
    }
    waiting_.push_back({Clock::now() + patience_, client, turn});
  }
  changed_.notify_one();
  pool_.Post(client, [this, turn] { Do(*turn); });
}

void PatientPool::Do(Turn& turn) {
  Work work = turn.Take();
  if (!work) {
    return;  // It was too late.
  }
  const Clock::time_point begin = Clock::now();
  work(std::nullopt);
  work = nullptr;
  const std::chrono::duration<double> took = Clock::now() - begin;
  const std::lock_guard lock(mutex_);
  work_seconds_ += (work_seconds_ == 0 ? 1 : kLatest) * (took.count() - work_seconds_);
}

void PatientPool::Watch() {
  std::unique_lock lock(mutex_);
  while (!is_ending_) {
    if (waiting_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const Clock::time_point until = waiting_.front().until;
    if (Clock::now() < until) {
      changed_.wait_until(lock, until);
      continue;
    }
    const Waiting late = std::move(waiting_.front());
    waiting_.pop_front();
    if (Work work = late.turn->Take()) {
      // The requests of an address are told to come as far apart as they are predicted to take.
      const std::int64_t again = promises_.Promise({late.client.address, 0}, /*request=*/0,
                                                   Clock::now(), work_seconds_, work_seconds_);
      lock.unlock();
      work(again);
      work = nullptr;  // What it holds is freed without the lock.
      lock.lock();
    }
  }
}

void PatientPool::Join() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  if (watch_.joinable()) {
    watch_.join();
  }
  pool_.Join();
}

}  // namespace scorecast::coordinator
