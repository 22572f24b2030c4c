#include "coordinator/transports/connection/proxy_greetings.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string_view>
#include <utility>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sys/socket.h>

#include "coordinator/access/proxy_header.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr auto kGreetingTime = std::chrono::seconds(5);
/// Pause after which a header is looked at again of which only a part has arrived.
constexpr auto kPartPause = std::chrono::milliseconds(20);

}  // namespace

struct ProxyGreetings::Greeting {
  Greeting(Socket from, const Address& of, Greeted then)
      : socket(std::move(from)),
        proxy(of),
        greeted(std::move(then)),
        limit(socket.get_executor()),
        pause(socket.get_executor()) {}

  Socket socket;
  const Address proxy;
  const Greeted greeted;
  asio::steady_timer limit;  ///< Ends the greeting.
  asio::steady_timer pause;
  bool has_part = false;  ///< A part of a header has arrived.
  bool is_over = false;
};

void ProxyGreetings::Await(Socket socket, const Address& proxy, Greeted greeted) {
  ++count_;
  auto greeting = std::make_shared<Greeting>(std::move(socket), proxy, std::move(greeted));
  asio::post(executor_, [this, greeting = std::move(greeting)] { Begin(greeting); });
}

void ProxyGreetings::Begin(const std::shared_ptr<Greeting>& greeting) {
  if (is_stopped_) {
    End(greeting, nullptr);
    return;
  }
  awaited_.insert(greeting);
  greeting->limit.expires_after(kGreetingTime);
  greeting->limit.async_wait(asio::bind_executor(executor_, [this, greeting](error_code cancelled) {
    if (!cancelled) {
      End(greeting, greeting->has_part ? nullptr : &greeting->proxy);
    }
  }));
  AwaitBytes(greeting);
}

void ProxyGreetings::AwaitBytes(const std::shared_ptr<Greeting>& greeting) {
  greeting->socket.async_wait(Socket::wait_read,
                              asio::bind_executor(executor_, [this, greeting](error_code error) {
                                if (!error) {
                                  Look(greeting);
                                }
                              }));
}

void ProxyGreetings::Look(const std::shared_ptr<Greeting>& greeting) {
  if (greeting->is_over) {
    return;
  }
  std::array<char, kMaxProxyHeaderBytes> bytes{};
  const int descriptor = greeting->socket.native_handle();
  const ssize_t size = recv(descriptor, bytes.data(), bytes.size(), MSG_PEEK | MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) {
    AwaitBytes(greeting);
    return;
  }
  if (size <= 0) {  // The connection has ended, which its protocol finds out, too.
    End(greeting, &greeting->proxy);
    return;
  }
  const ProxyHeader header =
      ParseProxyHeader(std::string_view(bytes.data(), static_cast<std::size_t>(size)));
  switch (header.state) {
    case ProxyHeader::State::kAbsent:
      End(greeting, &greeting->proxy);
      return;
    case ProxyHeader::State::kWhole: {
      // All of these bytes have arrived.
      static_cast<void>(recv(descriptor, bytes.data(), header.bytes, MSG_DONTWAIT));
      const Address client = header.client.value_or(greeting->proxy);
      End(greeting, &client);
      return;
    }
    case ProxyHeader::State::kBad:
      proto::LogWarning("the proxy {} sends a header of the PROXY protocol that is none",
                        greeting->proxy.to_string());
      End(greeting, nullptr);
      return;
    case ProxyHeader::State::kPart:
      greeting->has_part = true;
      greeting->pause.expires_after(kPartPause);
      greeting->pause.async_wait(
          asio::bind_executor(executor_, [this, greeting](error_code cancelled) {
            if (!cancelled) {
              Look(greeting);
            }
          }));
      return;
  }
}

void ProxyGreetings::End(const std::shared_ptr<Greeting>& greeting, const Address* client) {
  if (std::exchange(greeting->is_over, true)) {
    return;
  }
  awaited_.erase(greeting);
  --count_;
  greeting->limit.cancel();
  greeting->pause.cancel();
  error_code ignored;
  if (client == nullptr) {
    greeting->socket.close(ignored);
  } else {
    greeting->socket.cancel(ignored);
    greeting->greeted(std::move(greeting->socket), *client);
  }
}

void ProxyGreetings::Stop() {
  asio::post(executor_, [this] {
    is_stopped_ = true;
    const auto awaited = std::exchange(awaited_, {});
    for (const std::shared_ptr<Greeting>& greeting : awaited) {
      End(greeting, nullptr);
    }
  });
}

}  // namespace scorecast::coordinator
