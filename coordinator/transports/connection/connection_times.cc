// The time limits of a connection: of silence, of a request that arrives, and how soon it is
// noticed that a client has left.

#include <algorithm>
#include <string>

#include "coordinator/transports/connection/connection.h"

namespace scorecast::coordinator {

using boost::system::error_code;

namespace {

/// `what` is "request" or a part of it.
proto::Error ReadTimeout(const std::string& what, std::chrono::milliseconds limit) {
  return {408, "request_timeout",
          "The " + what + " did not arrive within " + std::to_string(limit.count()) +
              " ms of its first byte.",
          ""};
}

}  // namespace

Clock::time_point Connection::IdleSince() const {
  return std::max(stream_->last_transfer(), last_excuse_);
}

void Connection::WatchIdle() {
  idle_timer_.expires_at(IdleSince() + context_.idle_timeout);
  idle_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || self->has_ended()) {
      return;
    }
    // A client whose request is being computed is not idle; one that does not read its reply is.
    const bool is_waiting_for_us = !self->in_flight_.empty() && self->replies_.empty();
    // If the machine stalled, bytes may have arrived in time and not been read yet.
    const bool has_sent = !self->reading_paused_ && self->stream_->HasUnread();
    if (is_waiting_for_us || has_sent) {
      self->last_excuse_ = Clock::now();
    }
    if (Clock::now() - self->IdleSince() >= self->context_.idle_timeout) {
      self->CloseNow();
    } else {
      self->WatchIdle();
    }
  });
}

Clock::time_point Connection::ReadingDeadline() const {
  const std::chrono::milliseconds whole =
      context_.read_timeout + std::chrono::seconds(RequestBytes() / kReadBytesPerSecond);
  return *reading_since_ + std::min(whole, header_timeout_.value_or(whole));
}

void Connection::WatchReading(Clock::time_point deadline) {
  is_reading_watched_ = true;
  reading_timer_.expires_at(deadline);
  reading_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error) {
      return;  // The timer was set anew, or the connection is closed.
    }
    self->is_reading_watched_ = false;
    if (self->is_ending() || !self->reading_since_) {
      return;
    }
    const Clock::time_point now = Clock::now();
    if (now < self->ReadingDeadline()) {
      self->WatchReading(self->ReadingDeadline());
    } else if (self->room_->is_waiting() || self->stream_->HasUnread()) {
      self->WatchReading(now + kUnreadGrace);
    } else {
      // The read under way goes on, and shows when the client has closed its side.
      const bool is_header = self->header_timeout_ < self->context_.read_timeout;
      self->EndWith(is_header && self->header_timeout_
                        ? ReadTimeout("header of the request", *self->header_timeout_)
                        : ReadTimeout("request", self->context_.read_timeout));
    }
  });
}

void Connection::LimitReading() {
  const Clock::time_point deadline = ReadingDeadline();
  if (!is_reading_watched_ || reading_timer_.expiry() > deadline) {
    WatchReading(deadline);
  }
}

void Connection::WatchLeaving() {
  leaving_timer_.expires_after(kLeaveCheck);
  leaving_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (error || self->is_closed_ || !self->reading_paused_) {
      return;
    }
    if (self->stream_->HasHungUp()) {
      self->CloseNow();
    } else {
      self->WatchLeaving();
      self->ResumeReading();  // The bytes of a cancelled call may have been freed meanwhile.
    }
  });
}

}  // namespace scorecast::coordinator
