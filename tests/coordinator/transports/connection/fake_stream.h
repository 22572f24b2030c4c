#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <gtest/gtest.h>

#include "coordinator/transports/connection/byte_stream.h"

namespace scorecast::coordinator {

/// Both ends of a stream. The client takes a write's bytes only when it is told to.
class FakeStream : public ByteStream {
 public:
  explicit FakeStream(boost::asio::io_context& io) : io_(io) {}

  // The server's end.
  executor_type get_executor() override { return io_.get_executor(); }
  bool HasUnread() override { return !unread_.empty(); }
  std::optional<Clock::duration> SinceArrival() override { return since_arrival_; }
  bool HasHungUp() override { return client_hung_up_; }
  void ShutDownSend() override { is_shut_down_ = true; }
  void Close() override {
    is_closed_ = true;
    Complete(read_, boost::asio::error::operation_aborted, 0);
    Complete(write_, boost::asio::error::operation_aborted, 0);
  }

  // The client's end.
  void Send(const std::string& bytes) {
    unread_ += bytes;
    Deliver();
  }
  /// The time since the client's last bytes arrived.
  void SetSinceArrival(Clock::duration since) { since_arrival_ = since; }
  void HangUp() {
    client_hung_up_ = true;
    Deliver();
  }
  /// Returns the bytes of the write under way, which then completes.
  std::string Take() {
    std::string bytes(static_cast<const char*>(from_.data()), from_.size());
    from_ = {};
    Complete(write_, {}, bytes.size());
    return bytes;
  }

  /// Whether a write is under way.
  bool is_writing() const { return write_ != nullptr; }
  bool is_shut_down() const { return is_shut_down_; }
  bool is_closed() const { return is_closed_; }
  std::size_t unread() const { return unread_.size(); }

 protected:
  void ReadSome(boost::asio::mutable_buffer into, Done done) override {
    into_ = into;
    read_ = std::move(done);
    Deliver();
  }
  void WriteSome(boost::asio::const_buffer from, Done done) override {
    EXPECT_FALSE(is_closed_);
    from_ = from;
    write_ = std::move(done);
  }

 private:
  void Deliver() {
    if (read_ == nullptr) {
      return;
    }
    if (!unread_.empty()) {
      const std::size_t bytes = std::min(unread_.size(), into_.size());
      std::memcpy(into_.data(), unread_.data(), bytes);
      unread_.erase(0, bytes);
      Complete(read_, {}, bytes);
    } else if (client_hung_up_) {
      Complete(read_, boost::asio::error::eof, 0);
    }
  }

  void Complete(Done& operation, const error_code& error, std::size_t bytes) {
    if (operation != nullptr) {
      boost::asio::post(
          io_, [done = std::exchange(operation, nullptr), error, bytes] { done(error, bytes); });
    }
  }

  boost::asio::io_context& io_;
  std::string unread_;
  std::optional<Clock::duration> since_arrival_;
  boost::asio::mutable_buffer into_;
  boost::asio::const_buffer from_;
  Done read_;
  Done write_;
  bool client_hung_up_ = false;
  bool is_shut_down_ = false;
  bool is_closed_ = false;
};

}  // namespace scorecast::coordinator
