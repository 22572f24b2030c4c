#include "coordinator/transports/connection/tls_handshakes.h"

#include <algorithm>
#include <utility>

namespace scorecast::coordinator {

TlsHandshakes::TlsHandshakes(int threads, std::chrono::milliseconds timeout)
    : timeout_(timeout), pool_(threads) {}

void TlsHandshakes::Add(TlsHandshake::Socket socket, const ClientId& client,
                        const boost::asio::ip::address& address, std::vector<std::string> protocols,
                        const TlsFiles& files, TlsHandshake::Done done) {
  const auto entry = std::make_shared<Entry>(Entry{address, &files, nullptr});
  entry->handshake = std::make_shared<TlsHandshake>(
      std::move(socket), client, std::move(protocols), pool_,
      [this, entry, done = std::move(done)](TlsHandshake::Outcome outcome) {
        OnEnd(entry);
        done(std::move(outcome));
      });
  const std::lock_guard lock(mutex_);
  if (is_ended_) {
    entry->handshake->Cancel("");
    return;
  }
  OfAddress& own = addresses_[address];
  if (own.under_way.size() >= kMaxOfAddress) {
    own.waiting.push_back(entry);
    return;
  }
  if (under_way_ >= kMax) {
    EndOldest();
  }
  Start(own, entry);
}

void TlsHandshakes::Start(OfAddress& own, const EntryPointer& entry) {
  ++under_way_;
  own.under_way.push_back(entry);
  entry->is_under_way = true;
  entry->handshake->Start(entry->files->current(), timeout_);
}

void TlsHandshakes::EndOldest() {
  const auto most = std::ranges::max_element(
      addresses_, {}, [](const auto& address) { return address.second.under_way.size(); });
  const EntryPointer oldest = most->second.under_way.front();
  Remove(most->second, oldest);
  oldest->handshake->Cancel("there were too many handshakes");
}

void TlsHandshakes::Remove(OfAddress& own, const EntryPointer& entry) {
  if (std::exchange(entry->is_under_way, false)) {
    own.under_way.remove(entry);
    --under_way_;
  }
}

void TlsHandshakes::OnEnd(const EntryPointer& entry) {
  const std::lock_guard lock(mutex_);
  const auto found = addresses_.find(entry->address);
  if (found != addresses_.end()) {
    OfAddress& own = found->second;
    Remove(own, entry);
    // One that waits alone starts in any case, because no other would end and start it.
    while (own.under_way.size() < kMaxOfAddress && !own.waiting.empty() &&
           (under_way_ < kMax || own.under_way.empty())) {
      Start(own, own.waiting.front());
      own.waiting.pop_front();
    }
    if (own.under_way.empty()) {
      addresses_.erase(found);
    }
  }
  entry->handshake.reset();  // Otherwise each would hold the other.
}

void TlsHandshakes::CancelAll() {
  const std::lock_guard lock(mutex_);
  is_ended_ = true;
  for (auto& [address, own] : addresses_) {
    for (const EntryPointer& entry : own.under_way) {
      entry->handshake->Cancel("");
    }
    for (const EntryPointer& entry : std::exchange(own.waiting, {})) {
      entry->handshake->Cancel("");
    }
  }
}

}  // namespace scorecast::coordinator
