#include "coordinator/front/replica_connection.h"

#include <algorithm>
#include <random>
#include <utility>

#include <boost/asio/write.hpp>

#include "proto/base/check.h"
#include "proto/base/one_line.h"
#include "proto/log/log.h"
#include "proto/wire/frame.h"

namespace scorecast::coordinator {

namespace asio = boost::asio;
using boost::system::error_code;

namespace {

/// Room for bytes that are read. More is taken for a longer reply, as its bytes arrive.
constexpr std::size_t kReadBytes = std::size_t{64} << 10;
/// Longer buffers are not kept.
constexpr std::size_t kKeptBytes = std::size_t{1} << 20;

/// What a silent replica has not said so many times.
constexpr int kStatesInSilence = 20;
/// How often a connection is looked at in the time after which it is silent.
constexpr int kLooksInSilence = 8;

bool IsPart(const v1::Response& response) {
  return response.has_chunked_delta() || response.has_completions_delta() ||
         (response.has_http() && !response.http().last());
}

/// Calls a copy of the event, because whoever is told may drop the events.
void Tell(std::function<void()> event) {
  if (event) {
    event();
  }
}

/// The first of the ids, which are counted on from there. Nobody can guess those of others'
/// requests.
std::uint64_t RandomId() {
  std::random_device random;
  return std::uint64_t{random()} << 24 | (random() & 0xFF'FFFFU);
}

std::string TextOf(const v1::Error& error) {
  return std::to_string(error.code()) + " " + proto::OneLine(error.reason()) + ": " +
         proto::OneLine(error.message());
}

}  // namespace

ReplicaConnection::ReplicaConnection(const asio::any_io_executor& executor, std::string name,
                                     std::string address,
                                     std::shared_ptr<const ReplicaOptions> options, Events events)
    : executor_(executor),
      name_(std::move(name)),
      address_(std::move(address)),
      options_(std::move(options)),
      events_(std::move(events)),
      retry_timer_(executor),
      silence_timer_(executor),
      pause_(options_->first_pause),
      last_id_(RandomId()) {}

void ReplicaConnection::Start() { Connect(); }

void ReplicaConnection::Connect() {
  connector_ = std::make_shared<ReplicaConnector>(executor_, options_->tls);
  connector_->Start(
      address_, options_->connect_timeout,
      [self = shared_from_this()](std::unique_ptr<ByteStream> stream, const std::string& fault) {
        self->OnConnected(std::move(stream), fault);
      });
}

void ReplicaConnection::ConnectLater() {
  retry_timer_.expires_after(pause_);
  pause_ = std::min(2 * pause_, options_->longest_pause);
  retry_timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error && !self->has_ended_) {
      self->Connect();
    }
  });
}

void ReplicaConnection::OnConnected(std::unique_ptr<ByteStream> stream, const std::string& fault) {
  connector_ = nullptr;
  if (stream == nullptr) {
    Note("cannot connect: " + fault);
    ConnectLater();
    return;
  }
  link_ = std::make_shared<Link>();
  link_->stream = std::move(stream);
  link_->read.resize(kReadBytes);
  link_->begun = link_->heard = Clock::now();
  SayHello();
  Read(link_);
  Listen(link_);
}

void ReplicaConnection::SayHello() {
  v1::Request request;
  hello_id_ = ++last_id_;
  request.set_request_id(hello_id_);
  v1::Hello& hello = *request.mutable_hello();
  hello.set_front_key(options_->front_key);
  hello.set_version(options_->version);
  const auto interval = std::max<std::int64_t>(options_->silence.count() / kStatesInSilence, 1);
  hello.set_status_interval_ms(static_cast<std::uint32_t>(interval));
  proto::AppendFrame(request, {}, link_->unsent);
  Write(link_);
}

void ReplicaConnection::Read(const LinkPtr& link) {
  link->stream->async_read_some(
      asio::buffer(link->read.data() + link->have, link->read.size() - link->have),
      [self = shared_from_this(), link](const error_code& error, std::size_t bytes) {
        if (link != self->link_) {
          return;
        }
        if (error) {
          self->Lose("it closed the connection: " + error.message());
          return;
        }
        link->have += bytes;
        link->heard = Clock::now();
        if (self->HandleFrames(link)) {
          self->Read(link);
        }
      });
}

bool ReplicaConnection::HandleFrames(const LinkPtr& link) {
  std::size_t at = 0;
  std::size_t wanted = 0;  // Bytes of the frame that is not there yet; 0 if they are unknown.
  while (link->have - at >= proto::kFrameHeaderBytes) {
    proto::FrameHeader header{};
    std::copy_n(link->read.begin() + static_cast<std::ptrdiff_t>(at), header.size(),
                header.begin());
    const std::size_t length = proto::FrameLength(header);
    if (length > options_->max_reply_bytes) {
      Lose("its reply is too long: " + std::to_string(length) + " bytes");
      return false;
    }
    if (link->have - at < header.size() + length) {
      wanted = header.size() + length;
      break;
    }
    v1::Response response;
    if (!response.ParseFromArray(link->read.data() + at + header.size(),
                                 static_cast<int>(length))) {
      Lose("its reply is not a scorecast.v1.Response");
      return false;
    }
    HandleResponse(link, std::move(response));
    if (link != link_) {
      return false;
    }
    at += header.size() + length;
  }
  if (at > 0) {
    link->have -= at;
    std::copy_n(link->read.begin() + static_cast<std::ptrdiff_t>(at), link->have,
                link->read.begin());
  }
  // A frame that has not arrived takes at most twice the memory of what has.
  const std::size_t room = std::max(kReadBytes, std::min(wanted, 2 * link->have));
  link->read.resize(std::max(room, link->have));
  if (link->read.capacity() > kKeptBytes && link->read.size() < kKeptBytes) {
    link->read.shrink_to_fit();
  }
  return true;
}

void ReplicaConnection::HandleResponse(const LinkPtr& link, v1::Response response) {
  if (response.has_status()) {
    link->status = std::move(*response.mutable_status());
    response.clear_status();
    // A state in front of the greeting is told with it.
    if (is_ready()) {
      Tell(events_.status);
    }
  }
  if (link != link_) {
    return;
  }
  if (!link->is_greeted && response.request_id() == hello_id_) {
    HandleGreeting(response);
  } else if (response.has_error() && response.request_id() == 0) {
    // It has dropped a request, and does not say which.
    Lose("it refused a frame: " + TextOf(response.error()));
  } else if (response.has_error() && response.error().code() == 401) {
    // Requests that are passed on show no key, so it is the front's own that is refused.
    Lose("it no longer trusts this front: " + TextOf(response.error()));
  } else {
    HandleReply(link, std::move(response));
  }
}

void ReplicaConnection::HandleGreeting(v1::Response& response) {
  if (response.has_error()) {
    Lose("it does not trust this front: " + TextOf(response.error()));
    return;
  }
  if (!response.has_hello() || !response.hello().trusted()) {
    Lose("it does not trust this front: its --front-key has another key, or it has none");
    return;
  }
  link_->hello = std::move(*response.mutable_hello());
  link_->is_greeted = true;
  noted_.clear();
  const v1::HelloReply& hello = link_->hello;
  proto::LogInfo("replica {} at {} is connected: scorecast {}, {} {}, {}, {}", name_, address_,
                 proto::OneLine(hello.version()), proto::OneLine(hello.kind()),
                 proto::OneLine(hello.model()), proto::OneLine(hello.dtype()),
                 proto::OneLine(hello.kernel_set()));
  Tell(events_.ready);
}

void ReplicaConnection::HandleReply(const LinkPtr& link, v1::Response response) {
  const auto found = link->in_flight.find(response.request_id());
  if (found == link->in_flight.end()) {
    return;  // A state, or the reply to a request that was cancelled.
  }
  const std::shared_ptr<Handler> handler = found->second;
  const bool is_part = IsPart(response);
  if (!is_part) {
    link->in_flight.erase(found);
  }
  (*handler)(
      {is_part ? ReplicaReply::Kind::kPart : ReplicaReply::Kind::kLast, std::move(response)});
  if (is_retired_ && link == link_ && link->in_flight.empty()) {
    Close();
  }
}

bool ReplicaConnection::HasRoomFor(std::size_t bytes) const {
  if (!is_ready()) {
    return false;
  }
  const std::size_t unsent = link_->writing.size() + link_->unsent.size();
  return (unsent == 0 || unsent + bytes <= options_->max_unsent_bytes) &&
         static_cast<std::int64_t>(link_->in_flight.size()) < hello().max_requests_in_flight();
}

std::uint64_t ReplicaConnection::Send(std::string_view request, const v1::Forwarded& forwarded,
                                      Handler handler) {
  proto::Check(is_ready(), "requests are sent to replicas that are ready");
  const std::uint64_t id = ++last_id_;
  v1::Request rest;
  rest.set_request_id(id);
  *rest.mutable_forwarded() = forwarded;
  proto::AppendFrame(rest, request, link_->unsent);
  link_->in_flight.emplace(id, std::make_shared<Handler>(std::move(handler)));
  Write(link_);
  return id;
}

void ReplicaConnection::Cancel(std::uint64_t id) {
  if (link_ == nullptr || link_->in_flight.erase(id) == 0) {
    return;
  }
  v1::Request request;
  request.set_request_id(++last_id_);
  request.mutable_cancel()->set_request_id(id);
  proto::AppendFrame(request, {}, link_->unsent);
  Write(link_);
  if (is_retired_ && link_->in_flight.empty()) {
    Close();
  }
}

void ReplicaConnection::Write(const LinkPtr& link) {
  if (!link->writing.empty() || link->unsent.empty()) {
    return;
  }
  link->writing.swap(link->unsent);
  asio::async_write(*link->stream, asio::buffer(link->writing),
                    [self = shared_from_this(), link](const error_code& error, std::size_t) {
                      if (link != self->link_) {
                        return;
                      }
                      if (error) {
                        self->Lose("it closed the connection: " + error.message());
                        return;
                      }
                      link->writing.clear();
                      if (link->writing.capacity() > kKeptBytes) {
                        link->writing.shrink_to_fit();
                      }
                      self->Write(link);
                    });
}

void ReplicaConnection::Listen(const LinkPtr& link) {
  silence_timer_.expires_after(options_->silence / kLooksInSilence);
  silence_timer_.async_wait([self = shared_from_this(), link](const error_code& error) {
    if (error || link != self->link_) {
      return;
    }
    const Clock::time_point now = Clock::now();
    if (!link->is_greeted && now - link->begun >= self->options_->connect_timeout) {
      self->Lose("it did not say in time what it is");
    } else if (link->is_greeted && now - link->heard >= self->options_->silence &&
               !link->stream->HasUnread()) {  // If it has, it is this process that was stopped.
      self->Lose("it is silent");
    } else {
      self->Listen(link);
    }
  });
}

void ReplicaConnection::Retire() {
  events_ = {};
  is_retired_ = true;
  if (in_flight() == 0) {
    Close();
  }
}

void ReplicaConnection::Close() {
  events_ = {};
  has_ended_ = true;
  retry_timer_.cancel();
  if (connector_ != nullptr) {
    connector_->Cancel();
    connector_ = nullptr;
  }
  if (link_ != nullptr) {
    Lose("");
  }
}

void ReplicaConnection::Lose(const std::string& fault) {
  const auto self = shared_from_this();
  const LinkPtr link = std::exchange(link_, nullptr);
  const bool was_greeted = link->is_greeted;
  // One that is lost again soon is tried more seldom, as one that cannot be reached.
  if (was_greeted && Clock::now() - link->begun >= options_->longest_pause) {
    pause_ = options_->first_pause;
  }
  silence_timer_.cancel();
  link->stream->Close();
  if (!has_ended_) {
    Note(fault);
    if (is_retired_) {
      has_ended_ = true;
    } else {
      ConnectLater();
    }
  }
  if (was_greeted) {
    Tell(events_.lost);
  }
  for (const auto& [id, handler] : std::exchange(link->in_flight, {})) {
    (*handler)({ReplicaReply::Kind::kLost});
  }
}

void ReplicaConnection::Note(const std::string& fault) {
  if (noted_ != fault) {
    proto::LogWarning("replica {} at {}: {}", name_, address_, fault);
    noted_ = fault;
  }
}

}  // namespace scorecast::coordinator
