#include "shard/worker/doorbell.h"

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio.hpp>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>
#include <unistd.h>

#include "proto/base/check.h"
#include "proto/base/error.h"

namespace scorecast::shard {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// For all ranks together to come through at start-up.
constexpr auto kConnectTime = std::chrono::seconds(30);
/// For one connection to prove itself; and for one address of rank 0 to answer.
constexpr auto kHandshakeTime = std::chrono::seconds(3);
/// For the last ring, where this rank leaves before it.
constexpr auto kLastRingTime = std::chrono::seconds(5);

using Token = std::array<std::uint8_t, 16>;

/// What a rank says first. All ranks run the same build on one kind of machine.
struct Hello {
  Token token{};
  std::int32_t rank = 0;
};

/// Where rank 0 may be reached: sent to all over MPI.
struct Address {
  std::array<char, INET6_ADDRSTRLEN> text{};
};

Token RandomToken() {
  Token token;
  if (getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    throw proto::StartupError("the system gives no random numbers for the doorbell's token");
  }
  return token;
}

/// Does not stop at the first byte that differs.
bool SameToken(const Token& a, const Token& b) {
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

std::vector<Address> OwnAddresses(bool loopback_only) {
  std::vector<Address> addresses;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    throw proto::StartupError("cannot list this host's network addresses");
  }
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr || entry->ifa_addr->sa_family != AF_INET) {
      continue;
    }
    sockaddr_in address{};
    std::memcpy(&address, entry->ifa_addr, sizeof(address));
    const asio::ip::address_v4 v4(ntohl(address.sin_addr.s_addr));
    if (v4.is_loopback() == loopback_only) {
      Address text;
      std::snprintf(text.text.data(), text.text.size(), "%s", v4.to_string().c_str());
      addresses.push_back(text);
    }
  }
  freeifaddrs(list);
  if (addresses.empty()) {
    throw proto::StartupError(loopback_only ? "this host has no loopback address"
                                            : "this host has no network address but loopback, and "
                                              "there are ranks on other hosts");
  }
  return addresses;
}

/// Small messages at once; and a host that is gone is noticed.
void SetOptions(tcp::socket& socket) {
  socket.set_option(tcp::no_delay(true));
  socket.set_option(asio::socket_base::keep_alive(true));
  using KeepIdle = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPIDLE>;
  using KeepInterval = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPINTVL>;
  using KeepCount = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_KEEPCNT>;
  using UserTimeout = asio::detail::socket_option::integer<IPPROTO_TCP, TCP_USER_TIMEOUT>;
  socket.set_option(KeepIdle(4));
  socket.set_option(KeepInterval(2));
  socket.set_option(KeepCount(3));
  socket.set_option(UserTimeout(10'000));
}

/// What follows from the last ring on is no loss: rank 0 sets `ended` before it rings.
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
      RingAll(0);  // Start-up failed later, or something was thrown: the others may go too.
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
  /// The others never send: anything that arrives is their end.
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

  /// Leaves after the last ring: before it, rank 0 would take this for a death. Where none comes,
  /// rank 0 is right.
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
  /// Reading ahead is what notices rank 0's death in the middle of a pass.
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

/// Runs one asynchronous operation, for at most `time`; false where it failed or took longer.
template <typename Start>
bool RunFor(asio::io_context& context, std::chrono::steady_clock::duration time,
            tcp::socket& socket, Start start) {
  std::optional<error_code> result;
  start([&result](error_code error, auto&&...) { result = error; });
  context.restart();
  context.run_for(time);
  if (!result) {
    error_code ignored;
    socket.close(ignored);
    context.run();  // The cancelled operation's handler.
    return false;
  }
  return !*result;
}

/// Accepts until every other rank has proved itself: [ranks - 1], in rank order.
std::vector<tcp::socket> AcceptAll(asio::io_context& context, tcp::acceptor& acceptor,
                                   const Token& token, int ranks) {
  std::vector<std::optional<tcp::socket>> proven(static_cast<std::size_t>(ranks) - 1);
  std::size_t missing = proven.size();
  const auto deadline = std::chrono::steady_clock::now() + kConnectTime;
  acceptor.non_blocking(true);
  while (missing > 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw proto::StartupError(std::to_string(missing) + " of " + std::to_string(ranks - 1) +
                                " ranks did not connect to rank 0's doorbell");
    }
    tcp::socket socket(context);
    error_code error;
    acceptor.accept(socket, error);
    if (error) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    Hello hello;
    const bool came = RunFor(context, kHandshakeTime, socket, [&](auto done) {
      asio::async_read(socket, asio::buffer(&hello, sizeof(hello)), done);
    });
    const auto index = static_cast<std::size_t>(hello.rank) - 1;
    if (!came || !SameToken(hello.token, token) || index >= proven.size() || proven[index]) {
      continue;  // Not one of us: closed.
    }
    SetOptions(socket);
    proven[index] = std::move(socket);
    --missing;
  }
  std::vector<tcp::socket> sockets;
  for (std::optional<tcp::socket>& socket : proven) {
    sockets.push_back(std::move(*socket));
  }
  return sockets;
}

tcp::socket ConnectToRoot(asio::io_context& context, const std::vector<Address>& addresses,
                          std::uint16_t port, const Hello& hello) {
  const auto deadline = std::chrono::steady_clock::now() + kConnectTime;
  do {
    for (const Address& address : addresses) {
      tcp::socket socket(context);
      const tcp::endpoint root(asio::ip::make_address(address.text.data()), port);
      const bool connected = RunFor(context, kHandshakeTime, socket,
                                    [&](auto done) { socket.async_connect(root, done); });
      error_code error;
      if (connected) {
        asio::write(socket, asio::buffer(&hello, sizeof(hello)), error);
        if (!error) {
          SetOptions(socket);
          return socket;
        }
      }
    }
  } while (std::chrono::steady_clock::now() < deadline);
  throw proto::StartupError("cannot connect to rank 0's doorbell at " +
                            std::string(addresses.front().text.data()));
}

/// One rank has nobody to ring.
class SilentDoorbell : public Doorbell {
 public:
  void RingAll(std::uint64_t) override {}
  Ring Wait() override { return {}; }
};

template <typename T>
void BroadcastValue(const proto::Communicator& group, T& value) {
  group.Broadcast(std::as_writable_bytes(std::span(&value, 1)));
}

}  // namespace

void EndProcessFor(int rank) {
  std::fprintf(stderr, "scorecast: rank %d is gone: the job ends\n", rank);
  std::fflush(stderr);
  // Not exit or MPI_Abort: another thread may be in MPI, waiting for that rank for ever.
  _exit(70);
}

std::unique_ptr<Doorbell> Doorbell::Connect(const proto::Communicator& group, RankLost rank_lost) {
  if (group.size() == 1) {
    return std::make_unique<SilentDoorbell>();
  }
  const bool one_host = group.RanksOnThisHost() == group.size();
  auto context = std::make_unique<asio::io_context>(1);
  std::optional<tcp::acceptor> acceptor;
  Token token{};
  std::uint16_t port = 0;
  std::vector<Address> addresses;
  proto::StartupPhase(group, [&] {
    if (group.is_root()) {
      addresses = OwnAddresses(one_host);
      token = RandomToken();
      const tcp::endpoint any(
          one_host ? asio::ip::address_v4::loopback() : asio::ip::address_v4::any(), 0);
      acceptor.emplace(*context, any);
      port = acceptor->local_endpoint().port();
    }
  });
  BroadcastValue(group, token);
  BroadcastValue(group, port);
  auto count = static_cast<std::uint32_t>(addresses.size());
  BroadcastValue(group, count);
  addresses.resize(count);
  group.Broadcast(std::as_writable_bytes(std::span(addresses)));

  std::vector<tcp::socket> sockets;
  proto::StartupPhase(group, [&] {
    if (group.is_root()) {
      sockets = AcceptAll(*context, *acceptor, token, group.size());
    } else {
      sockets.push_back(ConnectToRoot(*context, addresses, port, {token, group.rank()}));
    }
  });
  if (group.is_root()) {
    acceptor.reset();
    return std::make_unique<RingingDoorbell>(std::move(sockets), std::move(context),
                                             std::move(rank_lost));
  }
  return std::make_unique<WaitingDoorbell>(std::move(sockets.front()), std::move(context),
                                           std::move(rank_lost));
}

}  // namespace scorecast::shard
