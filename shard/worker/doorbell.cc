#include "shard/worker/doorbell.h"

#include <atomic>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio.hpp>

#include "proto/base/check.h"
#include "shard/worker/doorbell_handshake.h"
#include "shard/worker/rank_watch.h"

namespace scorecast::shard {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// How long this rank waits for the last ring before it leaves.
constexpr auto kLastRingTime = std::chrono::seconds(5);
/// If mpirun sees one rank end first, it sleeps for a second before it sends the others SIGTERM,
/// and for another second before SIGKILL. The end of another child cuts a sleep short if the sleep
/// has begun. Therefore the other ranks end a moment later and in two waves, and the job is gone in
/// a fraction of a second.
constexpr auto kEndWave = std::chrono::milliseconds(100);
constexpr int kNoRank = INT_MAX;

/// What rank 0 sends. All ranks run the same build on one kind of machine.
struct RootMessage {
  enum class Kind : std::uint64_t {
    kRing,
    kReport,
    kEnd,  ///< Rank 0's watchdog ends the job, and has said why.
  };
  Kind kind = Kind::kRing;
  Ring ring;
  RankReport report;
};

/// The number of ranks before this one, not counting `lost`. 0 if no mpirun says which rank this
/// is.
int SurvivorsBefore(int lost) {
  const char* own = std::getenv("OMPI_COMM_WORLD_RANK");
  const int rank = own == nullptr ? 0 : std::atoi(own);
  return lost < rank ? rank - 1 : rank;
}

/// `lost` is the rank that has ended already, or kNoRank.
[[noreturn]] void EndInWaves(int lost, int exit_code) {
  std::fflush(stderr);
  std::this_thread::sleep_for(kEndWave * (1 + SurvivorsBefore(lost) % 2));
  // Not exit or MPI_Abort: another thread may be in MPI, waiting for the lost rank forever.
  // quick_exit runs only the launcher's handlers, which remove its files.
  std::quick_exit(exit_code);
}

/// A doorbell's thread. It handles the connections, and ticks for the watchdog.
class Watcher {
 public:
  Watcher(std::unique_ptr<asio::io_context> context, RankWatch* watch)
      : context_(std::move(context)), timer_(*context_), watch_(watch) {
    context_->restart();
  }

  /// Every kReportPeriod the RankWatch looks, and then `tick` is called. `end` is called before the
  /// process ends because the RankWatch says so. Without a RankWatch neither is called.
  void Start(std::function<void()> tick, std::function<void()> end) {
    tick_ = std::move(tick);
    end_ = std::move(end);
    if (watch_ != nullptr) {
      Tick();
    }
    thread_ = std::thread([this] { context_->run(); });
  }

  /// Called when the job ends: from now on a lost connection is normal, and nothing is watched.
  void JobEnds() { job_ends_ = true; }
  bool job_ends() const { return job_ends_; }

  void Stop() {
    JobEnds();
    context_->stop();
    thread_.join();
  }

  RankWatch* watch() { return watch_; }

 private:
  void Tick() {
    if (job_ends_) {
      return;
    }
    if (const std::optional<std::string> end = watch_->Tick(); end && !job_ends_) {
      std::fprintf(stderr, "scorecast: %s: the job ends\n", end->c_str());
      end_();
      EndInWaves(kNoRank, kWatchdogExitCode);
    }
    tick_();
    timer_.expires_after(kReportPeriod);
    timer_.async_wait([this](error_code error) {
      if (!error) {
        Tick();
      }
    });
  }

  std::unique_ptr<asio::io_context> context_;
  asio::steady_timer timer_;
  RankWatch* watch_;
  std::atomic<bool> job_ends_ = false;
  std::function<void()> tick_;
  std::function<void()> end_;
  std::thread thread_;
};

/// Rank 0: a connection to every other rank.
class RingingDoorbell : public Doorbell {
 public:
  RingingDoorbell(std::vector<tcp::socket> sockets, std::unique_ptr<asio::io_context> context,
                  RankWatch* watch, RankLost rank_lost)
      : watcher_(std::move(context), watch),
        sockets_(std::move(sockets)),
        reports_(sockets_.size()),
        rank_lost_(std::move(rank_lost)) {
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      ReadReport(i);
    }
    watcher_.Start([] {}, [this] { TellOthersToEnd(); });
  }

  ~RingingDoorbell() override {
    if (!watcher_.job_ends()) {
      // A later part of start-up failed, or an exception was thrown: the other ranks may end too.
      RingAll(0);
    }
    watcher_.Stop();
  }

  void RingAll(std::uint64_t plan_bytes) override {
    RootMessage message;
    message.ring = {++sequence_, plan_bytes};
    if (plan_bytes == 0) {
      watcher_.JobEnds();
    }
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      if (Send(i, message) && plan_bytes != 0) {
        rank_lost_(static_cast<int>(i) + 1);
      }
    }
  }

  Ring Wait() override {
    proto::Check(false, "rank 0 rings the doorbell and does not wait for it");
    return {};
  }

 private:
  /// The computing thread sends rings, and the watcher's thread the rest.
  error_code Send(std::size_t i, const RootMessage& message) {
    const std::lock_guard lock(send_mutex_);
    error_code error;
    asio::write(sockets_[i], asio::buffer(&message, sizeof(message)), error);
    return error;
  }

  /// Waits for a report of the rank, and answers it with rank 0's own. If there is no RankWatch,
  /// ranks send no reports, and the wait ends with the connection.
  void ReadReport(std::size_t i) {
    asio::async_read(sockets_[i], asio::buffer(&reports_[i], sizeof(RankReport)),
                     [this, i](error_code error, std::size_t) {
                       const int rank = static_cast<int>(i) + 1;
                       if (watcher_.job_ends()) {
                         return;
                       }
                       if (error) {
                         rank_lost_(rank);
                         return;
                       }
                       watcher_.watch()->Heard(rank, reports_[i]);
                       RootMessage message;
                       message.kind = RootMessage::Kind::kReport;
                       message.report = watcher_.watch()->OwnReport();
                       Send(i, message);  // If the connection is lost, the next read fails.
                       ReadReport(i);
                     });
  }

  void TellOthersToEnd() {
    RootMessage message;
    message.kind = RootMessage::Kind::kEnd;
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      Send(i, message);
    }
  }

  Watcher watcher_;
  std::vector<tcp::socket> sockets_;  // [ranks - 1]
  std::vector<RankReport> reports_;   // [ranks - 1], being read
  RankLost rank_lost_;
  std::mutex send_mutex_;
  std::uint64_t sequence_ = 0;
};

/// Another rank: one connection to rank 0.
class WaitingDoorbell : public Doorbell {
 public:
  WaitingDoorbell(tcp::socket socket, std::unique_ptr<asio::io_context> context, RankWatch* watch,
                  RankLost rank_lost)
      : watcher_(std::move(context), watch),
        socket_(std::move(socket)),
        rank_lost_(std::move(rank_lost)) {
    ReadMessage();
    watcher_.Start([this] { Report(); }, [] {});
  }

  /// Waits for the last ring, because rank 0 would report this rank as lost if the connection
  /// closed earlier. If no last ring comes in time, this rank closes the connection, and rank 0's
  /// report is right.
  ~WaitingDoorbell() override {
    {
      std::unique_lock lock(mutex_);
      rang_.wait_for(lock, kLastRingTime, [this] { return watcher_.job_ends(); });
    }
    watcher_.Stop();
  }

  void RingAll(std::uint64_t) override { proto::Check(false, "only rank 0 rings the doorbell"); }

  Ring Wait() override {
    std::unique_lock lock(mutex_);
    rang_.wait(lock, [this] { return !rings_.empty(); });
    const Ring ring = rings_.front();
    rings_.pop_front();
    proto::Check(ring.sequence == ++sequence_, "no ring was missed");
    return ring;
  }

 private:
  /// Always waits for the next message, so that the death of rank 0 is noticed even during a pass.
  void ReadMessage() {
    asio::async_read(socket_, asio::buffer(&incoming_, sizeof(incoming_)),
                     [this](error_code error, std::size_t) {
                       if (error) {
                         if (!watcher_.job_ends()) {
                           rank_lost_(0);
                         }
                         return;
                       }
                       Receive(incoming_);
                       if (!watcher_.job_ends()) {
                         ReadMessage();
                       }
                     });
  }

  void Receive(const RootMessage& message) {
    switch (message.kind) {
      case RootMessage::Kind::kRing: {
        {
          const std::lock_guard lock(mutex_);
          rings_.push_back(message.ring);
          if (message.ring.plan_bytes == 0) {
            watcher_.JobEnds();
          }
        }
        rang_.notify_all();
        break;
      }
      case RootMessage::Kind::kReport:
        watcher_.watch()->Heard(0, message.report);
        is_reply_due_ = false;
        break;
      case RootMessage::Kind::kEnd:
        EndInWaves(kNoRank, kWatchdogExitCode);
    }
  }

  void Report() {
    if (!is_reply_due_) {
      is_reply_due_ = true;
      const RankReport report = watcher_.watch()->OwnReport();
      error_code error;  // If the connection is lost, the read says so.
      asio::write(socket_, asio::buffer(&report, sizeof(report)), error);
    }
  }

  Watcher watcher_;
  tcp::socket socket_;
  RankLost rank_lost_;
  RootMessage incoming_;
  bool is_reply_due_ = false;  // Only the watcher's thread uses it.
  std::uint64_t sequence_ = 0;
  std::mutex mutex_;
  std::condition_variable rang_;
  std::deque<Ring> rings_;
};

/// For a group of one rank: there is no other rank to wake, but passes are watched.
class SilentDoorbell : public Doorbell {
 public:
  explicit SilentDoorbell(RankWatch* watch)
      : watcher_(std::make_unique<asio::io_context>(1), watch) {
    watcher_.Start([] {}, [] {});
  }
  ~SilentDoorbell() override { watcher_.Stop(); }

  void RingAll(std::uint64_t) override {}
  Ring Wait() override { return {}; }

 private:
  Watcher watcher_;
};

}  // namespace

void EndProcessFor(int rank) {
  std::fprintf(stderr, "scorecast: rank %d is gone: the job ends\n", rank);
  EndInWaves(rank, kRankGoneExitCode);
}

std::unique_ptr<Doorbell> Doorbell::Connect(const proto::Communicator& group, RankWatch* watch,
                                            RankLost rank_lost, const HandshakeTimes& times) {
  if (group.size() == 1) {
    return std::make_unique<SilentDoorbell>(watch);
  }
  auto context = std::make_unique<asio::io_context>(1);
  tcp::acceptor acceptor(*context);
  const Invitation invitation = Invite(group, acceptor);
  std::vector<tcp::socket> sockets;
  proto::StartupPhase(group, [&] {
    if (group.is_root()) {
      sockets = AcceptRanks(*context, acceptor, invitation, group.size(), times);
    } else {
      sockets.push_back(ConnectToRoot(*context, invitation, group.rank(), times));
    }
  });
  if (group.is_root()) {
    return std::make_unique<RingingDoorbell>(std::move(sockets), std::move(context), watch,
                                             std::move(rank_lost));
  }
  return std::make_unique<WaitingDoorbell>(std::move(sockets.front()), std::move(context), watch,
                                           std::move(rank_lost));
}

}  // namespace scorecast::shard
