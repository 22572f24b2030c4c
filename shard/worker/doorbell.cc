#include "shard/worker/doorbell.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio.hpp>
#include <unistd.h>

#include "proto/base/check.h"
#include "shard/worker/doorbell_handshake.h"

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

/// Distinguishes the loss of a rank from the end of the job: after the last ring, connections close
/// normally. Rank 0 sets `ended` before it rings.
struct Watch {
  RankLost rank_lost;
  std::atomic<bool> ended = false;
};

/// Rank 0: a connection to every other rank.
class RingingDoorbell : public Doorbell {
 public:
  RingingDoorbell(std::vector<tcp::socket> sockets, std::unique_ptr<asio::io_context> context,
                  RankLost rank_lost)
      : context_(std::move(context)), sockets_(std::move(sockets)) {
    watch_.rank_lost = std::move(rank_lost);
    context_->restart();
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      WatchSocket(i);
    }
    watcher_ = std::thread([this] { context_->run(); });
  }

  ~RingingDoorbell() override {
    if (!watch_.ended) {
      // A later part of start-up failed, or something was thrown: the others may end too.
      RingAll(0);
    }
    context_->stop();
    watcher_.join();
  }

  void RingAll(std::uint64_t plan_bytes) override {
    const Ring ring = {++sequence_, plan_bytes};
    if (plan_bytes == 0) {
      watch_.ended = true;
    }
    for (std::size_t i = 0; i < sockets_.size(); ++i) {
      error_code error;
      asio::write(sockets_[i], asio::buffer(&ring, sizeof(ring)), error);
      if (error && plan_bytes != 0) {
        watch_.rank_lost(static_cast<int>(i) + 1);
      }
    }
  }

  Ring Wait() override {
    proto::Check(false, "rank 0 rings the doorbell and does not wait for it");
    return {};
  }

 private:
  /// The other ranks never send, so the read ends only when the connection does.
  void WatchSocket(std::size_t i) {
    asio::async_read(sockets_[i], asio::buffer(unexpected_), [this, i](error_code, std::size_t) {
      if (!watch_.ended) {
        watch_.rank_lost(static_cast<int>(i) + 1);
      }
    });
  }

  std::unique_ptr<asio::io_context> context_;
  std::vector<tcp::socket> sockets_;  // [ranks - 1]
  std::array<char, 1> unexpected_{};
  Watch watch_;
  std::uint64_t sequence_ = 0;
  std::thread watcher_;
};

/// Another rank: one connection to rank 0.
class WaitingDoorbell : public Doorbell {
 public:
  WaitingDoorbell(tcp::socket socket, std::unique_ptr<asio::io_context> context, RankLost rank_lost)
      : context_(std::move(context)), socket_(std::move(socket)) {
    watch_.rank_lost = std::move(rank_lost);
    context_->restart();
    ReadRing();
    reader_ = std::thread([this] { context_->run(); });
  }

  /// Waits for the last ring, because rank 0 would report this rank as lost if the connection
  /// closed earlier. If no last ring comes in time, that report is right.
  ~WaitingDoorbell() override {
    {
      std::unique_lock lock(mutex_);
      rang_.wait_for(lock, kLastRingTime, [this] { return watch_.ended.load(); });
    }
    watch_.ended = true;
    context_->stop();
    reader_.join();
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
  /// Reads ahead, and so notices the death of rank 0 in the middle of a pass.
  void ReadRing() {
    asio::async_read(socket_, asio::buffer(&incoming_, sizeof(incoming_)),
                     [this](error_code error, std::size_t) {
                       if (error) {
                         if (!watch_.ended) {
                           watch_.rank_lost(0);
                         }
                         return;
                       }
                       {
                         const std::lock_guard lock(mutex_);
                         rings_.push_back(incoming_);
                         watch_.ended = incoming_.plan_bytes == 0;
                       }
                       rang_.notify_all();
                       if (!watch_.ended) {
                         ReadRing();
                       }
                     });
  }

  std::unique_ptr<asio::io_context> context_;
  tcp::socket socket_;
  Watch watch_;
  Ring incoming_;
  std::uint64_t sequence_ = 0;
  std::mutex mutex_;
  std::condition_variable rang_;
  std::deque<Ring> rings_;
  std::thread reader_;
};

/// For a group of one rank, in which there is no other rank to wake.
class SilentDoorbell : public Doorbell {
 public:
  void RingAll(std::uint64_t) override {}
  Ring Wait() override { return {}; }
};

/// The number of ranks before this one that are not `lost`; 0 if no mpirun says which rank this is.
int SurvivorsBefore(int lost) {
  const char* own = std::getenv("OMPI_COMM_WORLD_RANK");
  const int rank = own == nullptr ? 0 : std::atoi(own);
  return lost < rank ? rank - 1 : rank;
}

}  // namespace

void EndProcessFor(int rank) {
  std::fprintf(stderr, "scorecast: rank %d is gone: the job ends\n", rank);
  std::fflush(stderr);
  std::this_thread::sleep_for(kEndWave * (1 + SurvivorsBefore(rank) % 2));
  // Not exit or MPI_Abort: another thread may be in MPI, waiting for the lost rank forever.
  _exit(70);
}

std::unique_ptr<Doorbell> Doorbell::Connect(const proto::Communicator& group, RankLost rank_lost,
                                            const HandshakeTimes& times) {
  if (group.size() == 1) {
    return std::make_unique<SilentDoorbell>();
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
    return std::make_unique<RingingDoorbell>(std::move(sockets), std::move(context),
                                             std::move(rank_lost));
  }
  return std::make_unique<WaitingDoorbell>(std::move(sockets.front()), std::move(context),
                                           std::move(rank_lost));
}

}  // namespace scorecast::shard
