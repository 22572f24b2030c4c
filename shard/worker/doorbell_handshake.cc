#include "shard/worker/doorbell_handshake.h"

#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include <boost/asio.hpp>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>

#include "proto/base/error.h"

namespace scorecast::shard {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

/// Time before another attempt if an address refused or this process has no descriptor left.
constexpr auto kRetryPause = std::chrono::milliseconds(20);

Token RandomToken() {
  Token token;
  if (getrandom(token.data(), token.size(), 0) != static_cast<ssize_t>(token.size())) {
    throw proto::StartupError("the system gives no random numbers for the doorbell's token");
  }
  return token;
}

/// Takes the same time whichever bytes of the tokens differ.
bool SameToken(const Token& a, const Token& b) {
  std::uint8_t difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<std::uint8_t>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

std::vector<std::array<char, 16>> OwnAddresses(bool loopback_only) {
  std::vector<std::array<char, 16>> addresses;
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
      addresses.emplace_back();
      std::snprintf(addresses.back().data(), addresses.back().size(), "%s", v4.to_string().c_str());
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

/// "port 4711 of 10.0.0.1, 10.1.0.1"
std::string Where(const Invitation& invitation) {
  std::string text = "port " + std::to_string(invitation.port) + " of ";
  for (std::size_t i = 0; i < invitation.addresses.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::string(invitation.addresses[i].data());
  }
  return text;
}

std::string SecondsText(std::chrono::milliseconds time) {
  return std::to_string((time.count() + 999) / 1000) + " s";
}

/// Small messages leave at once, and the loss of the other host is noticed.
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

/// Rank 0's side of the handshakes. Run returns after Close, when no operation is left.
class Gate {
 public:
  Gate(asio::io_context& context, tcp::acceptor& acceptor, const Invitation& invitation, int ranks,
       const HandshakeTimes& times)
      : context_(context),
        acceptor_(acceptor),
        invitation_(invitation),
        times_(times),
        pause_(context),
        deadline_(context, times.all_ranks),
        proven_(static_cast<std::size_t>(ranks) - 1),
        missing_(proven_.size()) {}

  std::vector<tcp::socket> Run() {
    deadline_.async_wait([this](error_code error) {
      if (!error) {
        Close();
      }
    });
    Accept();
    context_.restart();
    context_.run();
    if (missing_ > 0) {
      throw proto::StartupError(MissingRanks() + " did not connect to rank 0's doorbell (" +
                                Where(invitation_) + ") within " + SecondsText(times_.all_ranks));
    }
    std::vector<tcp::socket> sockets;
    for (std::optional<tcp::socket>& socket : proven_) {
      sockets.push_back(std::move(*socket));
    }
    return sockets;
  }

 private:
  /// A connection that has not sent its hello yet.
  struct Visitor {
    explicit Visitor(tcp::socket accepted)
        : socket(std::move(accepted)), timer(socket.get_executor()) {}
    tcp::socket socket;
    asio::steady_timer timer;
    Hello hello;
  };

  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (closed_) {
        return;
      }
      if (!error) {
        Greet(std::make_shared<Visitor>(std::move(socket)));
        Accept();
        return;
      }
      pause_.expires_after(kRetryPause);
      pause_.async_wait([this](error_code) {
        if (!closed_) {
          Accept();
        }
      });
    });
  }

  void Greet(const std::shared_ptr<Visitor>& visitor) {
    visitors_.insert(visitor);
    visitor->timer.expires_after(times_.hello);
    visitor->timer.async_wait([visitor](error_code error) {
      if (!error) {
        error_code ignored;
        visitor->socket.close(ignored);
      }
    });
    asio::async_read(visitor->socket, asio::buffer(&visitor->hello, sizeof(Hello)),
                     [this, visitor](error_code error, std::size_t) {
                       visitor->timer.cancel();
                       visitors_.erase(visitor);
                       if (!error && !closed_) {
                         Admit(*visitor);
                       }
                     });
  }

  /// Drops the connection unless it comes from a rank that is not connected yet.
  void Admit(Visitor& visitor) {
    const auto index = static_cast<std::size_t>(visitor.hello.rank) - 1;
    if (!SameToken(visitor.hello.token, invitation_.token) || index >= proven_.size() ||
        proven_[index]) {
      return;
    }
    error_code error;
    asio::write(visitor.socket, asio::buffer(invitation_.root_token), error);
    if (error) {
      return;
    }
    SetOptions(visitor.socket);
    proven_[index] = std::move(visitor.socket);
    if (--missing_ == 0) {
      Close();
    }
  }

  void Close() {
    closed_ = true;
    error_code ignored;
    acceptor_.close(ignored);
    pause_.cancel();
    deadline_.cancel();
    for (const std::shared_ptr<Visitor>& visitor : visitors_) {
      visitor->socket.close(ignored);
    }
  }

  /// "rank 2", "ranks 1, 3"
  std::string MissingRanks() const {
    std::string text = missing_ == 1 ? "rank " : "ranks ";
    bool first = true;
    for (std::size_t i = 0; i < proven_.size(); ++i) {
      if (!proven_[i]) {
        text += (first ? "" : ", ") + std::to_string(i + 1);
        first = false;
      }
    }
    return text;
  }

  asio::io_context& context_;
  tcp::acceptor& acceptor_;
  const Invitation& invitation_;
  const HandshakeTimes& times_;
  asio::steady_timer pause_;
  asio::steady_timer deadline_;
  std::vector<std::optional<tcp::socket>> proven_;  // [ranks - 1]
  std::size_t missing_;
  std::set<std::shared_ptr<Visitor>> visitors_;
  bool closed_ = false;
};

/// Another rank's side. As in Gate, Run returns after Close, when no operation is left.
class Approach {
 public:
  Approach(asio::io_context& context, const Invitation& invitation, int rank,
           const HandshakeTimes& times)
      : context_(context),
        invitation_(invitation),
        hello_{invitation.token, rank},
        times_(times),
        deadline_(context, times.all_ranks) {}

  tcp::socket Run() {
    deadline_.async_wait([this](error_code error) {
      if (!error) {
        Close();
      }
    });
    for (const std::array<char, 16>& address : invitation_.addresses) {
      attempts_.emplace_back(
          context_, tcp::endpoint(asio::ip::make_address(address.data()), invitation_.port));
      Try(attempts_.back());
    }
    context_.restart();
    context_.run();
    if (!connected_) {
      throw proto::StartupError("cannot connect to rank 0's doorbell (" + Where(invitation_) +
                                ") within " + SecondsText(times_.all_ranks) + ": " +
                                (last_error_ ? last_error_.message() : "no reply"));
    }
    return std::move(*connected_);
  }

 private:
  struct Attempt {
    Attempt(asio::io_context& context, tcp::endpoint at)
        : root(std::move(at)), socket(context), pause(context) {}
    tcp::endpoint root;
    tcp::socket socket;
    asio::steady_timer pause;
    Token root_token{};
  };

  void Try(Attempt& attempt) {
    attempt.socket.async_connect(attempt.root, [this, &attempt](error_code error) {
      if (!error) {
        asio::write(attempt.socket, asio::buffer(&hello_, sizeof(hello_)), error);
      }
      if (error) {
        TryAgain(attempt, error);
        return;
      }
      asio::async_read(attempt.socket, asio::buffer(attempt.root_token),
                       [this, &attempt](error_code read_error, std::size_t) {
                         if (read_error || !SameToken(attempt.root_token, invitation_.root_token)) {
                           TryAgain(attempt, read_error);
                         } else if (!closed_) {
                           SetOptions(attempt.socket);
                           connected_ = std::move(attempt.socket);
                           Close();
                         }
                       });
    });
  }

  void TryAgain(Attempt& attempt, error_code error) {
    if (closed_) {
      return;
    }
    last_error_ = error;
    attempt.socket = tcp::socket(context_);
    attempt.pause.expires_after(kRetryPause);
    attempt.pause.async_wait([this, &attempt](error_code) {
      if (!closed_) {
        Try(attempt);
      }
    });
  }

  void Close() {
    closed_ = true;
    deadline_.cancel();
    for (Attempt& attempt : attempts_) {
      error_code ignored;
      attempt.socket.close(ignored);
      attempt.pause.cancel();
    }
  }

  asio::io_context& context_;
  const Invitation& invitation_;
  const Hello hello_;
  const HandshakeTimes& times_;
  asio::steady_timer deadline_;
  std::deque<Attempt> attempts_;  // One for each address; a deque, so that they do not move.
  std::optional<tcp::socket> connected_;
  error_code last_error_;
  bool closed_ = false;
};

template <typename T>
void BroadcastValue(const proto::Communicator& group, T& value) {
  group.Broadcast(std::as_writable_bytes(std::span(&value, 1)));
}

}  // namespace

Invitation Invite(const proto::Communicator& group, tcp::acceptor& acceptor) {
  const bool one_host = group.RanksOnThisHost() == group.size();
  Invitation invitation;
  proto::StartupPhase(group, [&] {
    if (group.is_root()) {
      invitation.addresses = OwnAddresses(one_host);
      invitation.token = RandomToken();
      invitation.root_token = RandomToken();
      acceptor.open(tcp::v4());
      acceptor.bind({one_host ? asio::ip::address_v4::loopback() : asio::ip::address_v4::any(), 0});
      acceptor.listen();
      invitation.port = acceptor.local_endpoint().port();
    }
  });
  BroadcastValue(group, invitation.token);
  BroadcastValue(group, invitation.root_token);
  BroadcastValue(group, invitation.port);
  auto count = static_cast<std::uint32_t>(invitation.addresses.size());
  BroadcastValue(group, count);
  invitation.addresses.resize(count);
  group.Broadcast(std::as_writable_bytes(std::span(invitation.addresses)));
  return invitation;
}

std::vector<tcp::socket> AcceptRanks(asio::io_context& context, tcp::acceptor& acceptor,
                                     const Invitation& invitation, int ranks,
                                     const HandshakeTimes& times) {
  return Gate(context, acceptor, invitation, ranks, times).Run();
}

tcp::socket ConnectToRoot(asio::io_context& context, const Invitation& invitation, int rank,
                          const HandshakeTimes& times) {
  return Approach(context, invitation, rank, times).Run();
}

}  // namespace scorecast::shard
