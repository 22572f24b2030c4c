#include "bench/service/open_loop.h"

#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>

#include "launcher/client/client.h"

namespace scorecast::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// The server stops reading from a connection that has many requests in flight. With so many
/// connections, sending is never blocked.
constexpr std::size_t kConnections = 16;

Clock::duration ToDuration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

double SecondsBetween(Clock::time_point begin, Clock::time_point end) {
  return std::chrono::duration<double>(end - begin).count();
}

/// Records the replies as they come.
class Board {
 public:
  Board(const std::vector<double>& arrivals, Clock::time_point begin) : begin_(begin) {
    for (const double arrival : arrivals) {
      outcomes_.push_back({.arrival = arrival});
    }
  }

  Clock::time_point ScheduledAt(std::size_t i) const {
    return begin_ + ToDuration(outcomes_[i].arrival);
  }

  void Sent(std::size_t i, Clock::time_point when) {
    const std::lock_guard lock(mutex_);
    outcomes_[i].sent_late = SecondsBetween(ScheduledAt(i), when);
  }

  void Received(const v1::Response& response, Clock::time_point when) {
    const std::lock_guard lock(mutex_);
    Outcome& outcome = outcomes_.at(response.request_id() - 1);
    outcome.latency = SecondsBetween(begin_, when) - outcome.arrival;
    outcome.code = response.has_score() ? 200 : response.error().code();
    ++replies_;
    changed_.notify_all();
  }

  /// Returns when every request has its reply, or after `patience`.
  void Wait(std::chrono::milliseconds patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [this] { return replies_ == outcomes_.size(); });
  }

  std::vector<Outcome> Take() { return std::move(outcomes_); }

 private:
  const Clock::time_point begin_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Outcome> outcomes_;
  std::size_t replies_ = 0;
};

/// A connection, and the thread that reads its replies.
class Line {
 public:
  Line(const std::string& address, Board& board) : client_(address) {
    receiver_ = std::thread([this, &board] {
      try {
        while (true) {
          const v1::Response response = client_.Receive();
          board.Received(response, Clock::now());
        }
      } catch (const std::exception&) {
        // The server or the destructor closed the connection. Requests without a reply keep
        // kNoReply.
      }
    });
  }
  ~Line() {
    boost::system::error_code ignored;
    client_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_both, ignored);
    receiver_.join();
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  void Send(const v1::Request& request) { client_.Send(request); }

 private:
  launcher::Client client_;
  std::thread receiver_;
};

}  // namespace

std::vector<double> PoissonArrivals(double rate, double seconds, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> arrivals;
  for (double time = 0; arrivals.empty() || time < seconds;) {
    arrivals.push_back(time);
    const double uniform = static_cast<double>(random() >> 11U) * 0x1p-53;  // [0, 1)
    time -= std::log1p(-uniform) / rate;
  }
  return arrivals;
}

std::vector<Outcome> RunOpenLoop(const std::string& address, const std::vector<double>& arrivals,
                                 const std::function<v1::Request(std::uint64_t)>& make_request,
                                 std::chrono::milliseconds patience) {
  // Requests are made before the run, so that only sending has to be on time.
  std::vector<v1::Request> requests;
  for (std::size_t i = 0; i < arrivals.size(); ++i) {
    requests.push_back(make_request(i + 1));
  }
  Board board(arrivals, Clock::now() + std::chrono::milliseconds(100));
  {
    std::vector<std::unique_ptr<Line>> lines;
    for (std::size_t i = 0; i < kConnections; ++i) {
      lines.push_back(std::make_unique<Line>(address, board));
    }
    for (std::size_t i = 0; i < requests.size(); ++i) {
      std::this_thread::sleep_until(board.ScheduledAt(i));
      board.Sent(i, Clock::now());
      lines[i % lines.size()]->Send(requests[i]);
    }
    board.Wait(patience);
  }
  return board.Take();
}

}  // namespace scorecast::bench
