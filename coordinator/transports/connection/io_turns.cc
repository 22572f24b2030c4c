#include "coordinator/transports/connection/io_turns.h"

#include <algorithm>
#include <chrono>

#include <boost/asio/defer.hpp>
#include <boost/asio/post.hpp>
#include <time.h>

#include "coordinator/schedule/clock.h"
#include "coordinator/transports/connection/turn_executor.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;

/// The sockets are polled after this time, if that is longer than a turn.
constexpr double kTokenSeconds = 0.5e-3;
/// What a turn takes besides its handler: polling, and the reading of the bytes that it handles.
constexpr double kTurnSeconds = 5e-6;

/// The line whose handler the thread runs.
thread_local const IoTurns::Line* running = nullptr;

/// Seconds that the calling thread computes. Its time of the CPU costs a system call, so that is
/// asked only for turns that seem long: perhaps the thread was made to wait.
class TurnClock {
 public:
  /// Seconds since a time, of which the thread computed.
  double Since(Clock::time_point begin, Clock::time_point now) {
    const double seconds = std::chrono::duration<double>(now - begin).count();
    if (seconds < kLongSeconds) {
      return seconds;
    }
    const double before = cpu_;
    Ask(now);
    return std::min(seconds, cpu_ - before);
  }

  /// Called before a turn, so that Since is not wrong by more than kLongSeconds.
  void Begin(Clock::time_point now) {
    if (std::chrono::duration<double>(now - asked_).count() > kLongSeconds) {
      Ask(now);
    }
  }

 private:
  static constexpr double kLongSeconds = 1e-3;

  void Ask(Clock::time_point now) {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    cpu_ = static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    asked_ = now;
  }

  double cpu_ = 0;
  Clock::time_point asked_;
};

thread_local TurnClock turn_clock;

}  // namespace

void IoTurns::Line::Push(std::unique_ptr<Handler> handler) {
  Handler* const added = handler.get();
  (first_ == nullptr ? first_ : last_->next_) = std::move(handler);
  last_ = added;
}

std::unique_ptr<IoTurns::Handler> IoTurns::Line::Pop() {
  std::unique_ptr<Handler> handler = std::move(first_);
  first_ = std::move(handler->next_);
  return handler;
}

IoTurns::~IoTurns() {
  // What a handler holds may end lines, or add handlers.
  for (;;) {
    std::shared_ptr<Line> line;
    std::unique_ptr<Handler> handler;
    {
      const std::lock_guard lock(mutex_);
      if (!root_.has_waiting()) {
        return;
      }
      auto& next = static_cast<Line&>(root_.Begin());
      handler = next.Pop();
      next.End(0);
      if (next.first_ != nullptr) {
        next.Wait();
      } else {
        line = std::move(next.self_);
      }
    }
  }
}

std::shared_ptr<IoTurns::Line> IoTurns::NewLine(FairShare& parent, FairShare& group) {
  // The last executor may be destroyed on any thread, but not while the lock is held.
  return {new Line(*this, parent, group), [this](Line* line) {
            const std::lock_guard lock(mutex_);
            delete line;
          }};
}

TurnExecutor IoTurns::ForClient(const ClientId& client) {
  const std::lock_guard lock(mutex_);
  return TurnExecutor(NewLine(ShareOf(clients_, client), clients_));
}

TurnExecutor IoTurns::ForProbe(const ClientId& client) {
  const std::lock_guard lock(mutex_);
  return TurnExecutor(NewLine(ShareOf(probes_, client), probes_));
}

TurnExecutor IoTurns::ForServer() {
  const std::lock_guard lock(mutex_);
  return TurnExecutor(NewLine(server_, server_));
}

void IoTurns::Move(Line& line, const ClientId& client) {
  const std::lock_guard lock(mutex_);
  line.next_client_ = client;
}

bool IoTurns::IsRunning(const Line& line) { return running == &line; }

bool IoTurns::TakeToken() {
  if (tokens_ == threads_) {
    return false;
  }
  ++tokens_;
  return true;
}

void IoTurns::Add(Line& line, std::unique_ptr<Handler> handler) {
  {
    const std::lock_guard lock(mutex_);
    line.Push(std::move(handler));
    if (line.self_ != nullptr) {
      return;
    }
    line.self_ = line.shared_from_this();
    line.Wait();
    if (!TakeToken()) {
      return;
    }
  }
  if (running == nullptr) {
    asio::defer(io_, [this] { Take(); });  // If this is a thread of `io_`, it wakes no other.
  } else {
    asio::post(io_, [this] { Take(); });
  }
}

void IoTurns::Take() {
  const Clock::time_point start = Clock::now();
  turn_clock.Begin(start);
  Clock::time_point begin = start;
  std::shared_ptr<Line> ended;  // Destroyed without the lock.
  std::unique_lock lock(mutex_);
  while (root_.has_waiting()) {
    if (std::chrono::duration<double>(begin - start).count() > kTokenSeconds) {
      lock.unlock();
      asio::defer(io_, [this] { Take(); });
      return;
    }
    auto& line = static_cast<Line&>(root_.Begin());
    std::unique_ptr<Handler> handler = line.Pop();
    const bool calls_another = root_.has_waiting() && TakeToken();
    lock.unlock();
    ended.reset();
    if (calls_another) {
      asio::post(io_, [this] { Take(); });
    }
    running = &line;
    handler->Run();
    handler.reset();
    running = nullptr;
    const Clock::time_point end = Clock::now();
    const double seconds = kTurnSeconds + turn_clock.Since(begin, end);
    begin = end;
    lock.lock();
    line.End(seconds);
    if (line.next_client_) {
      line.MoveTo(ShareOf(line.group_, *line.next_client_));
      line.next_client_.reset();
    }
    if (line.first_ != nullptr) {
      line.Wait();
    } else {
      ended = std::move(line.self_);
    }
  }
  --tokens_;
}

}  // namespace scorecast::coordinator
