#include "launcher/supervisor/supervisor.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <utility>

#include <poll.h>

#include "coordinator/transports/connection/listening_socket.h"
#include "proto/base/error.h"
#include "proto/log/log.h"

namespace scorecast::launcher {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// scancel sends SIGTERM to the ranks, too. They have this time to say that they drain. A second
/// signal during a drain would hurry them.
constexpr auto kTimeToDrainAlready = milliseconds(200);
/// Time that a job has in addition to its drain, for the last pass and for the ends of the ranks.
constexpr auto kDrainSlack = seconds(20);
/// Time that a launcher has to end after rank 0.
constexpr auto kLauncherTime = seconds(3);
/// Time between SIGTERM and SIGKILL.
constexpr auto kTermTime = seconds(2);
/// Exit code if the launcher ended with 0 without having started the ranks again.
constexpr int kNoRanks = 70;
/// Drain time of a job that has not said its own.
constexpr auto kUnknownDrainTime = seconds(10);
/// Time after which the log says what a restart waits for.
constexpr auto kPatienceWithStarts = seconds(2);

}  // namespace

Supervisor::Supervisor(std::vector<std::string> command, const RestartLimits& limits,
                       std::map<std::string, Descriptor> sockets)
    : command_(std::move(command)),
      limits_(limits),
      sockets_(std::move(sockets)),
      policy_(limits),
      signals_{SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD} {}

Supervisor::~Supervisor() {
  // A rank 0 that was killed has left its address file.
  if (address_file_) {
    address_file_->Remove();
  }
}

int Supervisor::Run() {
  for (;;) {
    int exit_code = RunJob();
    if (is_stopping()) {
      // A job that never listened has accepted no request, so any end of it is fine.
      return can_drain_ ? exit_code : 0;
    }
    if (exit_code == 0 && policy_.was_ever_ready() && !can_drain_) {
      // srun of Slurm 22.05 may end with 0 if a node does not start its rank.
      exit_code = kNoRanks;
    }
    if (exit_code == 0) {
      proto::LogInfo("supervise: the job has ended");
      return 0;
    }
    const std::optional<milliseconds> delay = policy_.Failed(Clock::now());
    if (!delay) {
      if (policy_.was_ever_ready()) {
        proto::LogError(
            "supervise: the job ended with exit code {}; no further restart after {} "
            "without a stable minute (--max-restarts)",
            exit_code, policy_.restarts());
      } else if (exit_code != 1) {  // A start-up fault has printed its line.
        proto::LogError("supervise: the job ended with exit code {} before it was ready",
                        exit_code);
      }
      return exit_code;
    }
    proto::LogWarning("supervise: the job ended with exit code {}; restart {} of {} in {:.1f} s",
                      exit_code, policy_.restarts(), limits_.max_restarts,
                      std::chrono::duration<double>(*delay).count());
    const TimePoint begin = Clock::now();
    for (const TimePoint start = begin + *delay; Clock::now() < start;) {
      HandleEvents(start);
      if (is_stopping()) {
        return 0;
      }
    }
    downtime_->delays += Clock::now() - begin;
  }
}

int Supervisor::RunJob() {
  can_drain_ = false;
  is_draining_ = false;
  drain_time_ = kUnknownDrainTime;
  is_ready_ = false;
  failed_at_.reset();
  later_signals_.clear();
  notice_.emplace(Clock::now(), kPatienceWithStarts);
  job_ = std::make_unique<Job>(command_, directory_);
  while (!job_->exit_code()) {
    const TimePoint next_signal = SendLaterSignals();
    HandleEvents(std::min(next_signal, LogLongWait()));
  }
  NoteFault();
  const int exit_code = *job_->exit_code();
  job_.reset();
  downtime_->ends += Clock::now() - *failed_at_;
  return exit_code;
}

void Supervisor::HandleEvents(TimePoint until) {
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  const auto timeout = std::clamp(left, milliseconds(0), milliseconds(seconds(3600)));
  // poll() ignores negative descriptors.
  std::array<pollfd, 3> fds{pollfd{signals_.descriptor(), POLLIN, 0},
                            pollfd{job_ ? job_->listener() : -1, POLLIN, 0},
                            pollfd{job_ ? job_->link() : -1, POLLIN, 0}};
  if (poll(fds.data(), fds.size(), static_cast<int>(timeout.count())) <= 0) {
    return;
  }
  if (fds[1].revents != 0) {
    job_->Accept();
  }
  if (fds[2].revents != 0) {
    HandleMessages();
  }
  if (fds[0].revents != 0) {
    HandleSignals();
  }
}

void Supervisor::HandleSignals() {
  for (const int signal : signals_.Take()) {
    if (signal == SIGCHLD) {
      if (job_) {
        job_->Reap();
      }
    } else if (signal == SIGUSR2) {
      if (job_ && can_drain_) {  // A rank 0 that is still starting would be killed by the signal.
        job_->SignalRankZero(SIGUSR2);
      }
    } else {
      Stop();
    }
  }
}

void Supervisor::HandleMessages() {
  // Handles all messages that are there, because the signals handled next may include the job's
  // end.
  for (pollfd link = {job_->link(), POLLIN, 0}; link.fd >= 0 && poll(&link, 1, 0) > 0;
       link.fd = job_->link()) {
    if (const std::optional<Message> message = job_->ReceiveFromRankZero()) {
      HandleMessage(*message);
    } else {
      LoseRankZero();
    }
  }
}

void Supervisor::HandleMessage(const Message& message) {
  if (const auto request = SocketRequest::FromMessage(message)) {
    SendSocket(*request);
  } else if (message.After("listening")) {
    can_drain_ = true;
  } else if (const auto drain_time = message.After("ready")) {
    std::int64_t count = 0;
    std::from_chars(drain_time->data(), drain_time->data() + drain_time->size(), count);
    drain_time_ = milliseconds(count);
    policy_.Ready(Clock::now());
    is_ready_ = true;
    LogReady();
  } else if (const auto path = message.After("address-file")) {
    address_file_ = AddressFile::Find(*path);
  } else if (message.After("draining")) {
    // If this process got no signal, the launcher may be ending the ranks because one of them has
    // failed.
    is_draining_ = true;
    CloseSockets();
  }
}

void Supervisor::LogReady() {
  if (!downtime_) {
    return;
  }
  const auto seconds_of = [](Clock::duration time) {
    return std::chrono::duration<double>(time).count();
  };
  const Clock::duration total = Clock::now() - downtime_->begin;
  proto::LogInfo(
      "supervise: ready again {:.2f} s after the fault: {:.2f} s until no process of the job was "
      "left, {:.2f} s of delay, {:.2f} s of start{}",
      seconds_of(total), seconds_of(downtime_->ends), seconds_of(downtime_->delays),
      seconds_of(total - downtime_->ends - downtime_->delays), job_->CpuShortage());
  downtime_.reset();
}

Supervisor::TimePoint Supervisor::LogLongWait() {
  // Nothing is logged about the first start and about a drain, because the service itself logs
  // them.
  const bool waits = failed_at_ || (!is_ready_ && !is_stopping());
  if (!waits || !policy_.was_ever_ready()) {
    return TimePoint::max();
  }
  const TimePoint now = Clock::now();
  if (notice_->IsDue(now)) {
    const double waited = notice_->SecondsAt(now);
    if (failed_at_) {
      proto::LogWarning(
          "supervise: rank 0 is gone, and the launcher has not ended for {:.1f} s: {}", waited,
          job_->LauncherText());
    } else if (job_->link() < 0) {
      proto::LogInfo("supervise: has waited {:.1f} s for the launcher {} to start rank 0{}", waited,
                     job_->LauncherText(), job_->CpuShortage());
    } else {
      proto::LogInfo(
          "supervise: has waited {:.1f} s for the ranks to read the model and be ready{}", waited,
          job_->CpuShortage());
    }
  }
  return notice_->next();
}

void Supervisor::SendSocket(const SocketRequest& request) {
  try {
    Descriptor& socket = sockets_[request.name];
    if (!socket) {
      socket = Descriptor(coordinator::OpenBoundSocket(request.host, request.port));
    }
    Send(job_->link(), "socket", socket.get());
  } catch (const proto::StartupError& fault) {
    Send(job_->link(), std::string("error ") + fault.what());
  }
}

void Supervisor::NoteFault() {
  if (!failed_at_) {
    failed_at_ = Clock::now();
    notice_.emplace(*failed_at_, kPatienceWithStarts);
  }
  if (!downtime_) {
    downtime_ = Downtime{*failed_at_};
  }
}

void Supervisor::LoseRankZero() {
  NoteFault();
  if (is_stopping() && !can_drain_) {
    return;  // Stop will soon have the launcher killed.
  }
  // The launcher usually ends by itself, but it may hang if it has lost a host. If the job has
  // found a fault in its configuration, the launcher has this time to end with its exit code.
  const TimePoint now = Clock::now();
  const bool ends_itself = is_stopping() || is_draining_ || !can_drain_;
  const TimePoint end = now + (ends_itself ? kDrainSlack : kLauncherTime);
  later_signals_ = {{end, SIGTERM}, {end + kTermTime, SIGKILL}};
}

void Supervisor::CloseSockets() {
  if (is_stopping() && is_draining_) {
    sockets_.clear();
  }
}

void Supervisor::Stop() {
  ++stop_requests_;
  CloseSockets();
  if (!job_ || stop_requests_ > 2) {
    return;
  }
  if (can_drain_ && job_->link() < 0) {
    return;  // Rank 0 is gone, so nothing drains. See LoseRankZero.
  }
  const TimePoint now = Clock::now();
  if (!can_drain_) {
    later_signals_ = {{now, SIGTERM}, {now + kTermTime, SIGKILL}};
  } else if (stop_requests_ == 2) {
    // The second signal that the ranks get ends their drain.
    later_signals_ = {
        {now, SIGUSR1}, {now + kDrainSlack, SIGTERM}, {now + kDrainSlack + kTermTime, SIGKILL}};
  } else {
    const TimePoint end = now + drain_time_ + kDrainSlack;
    later_signals_ = {{end, SIGTERM}, {end + kTermTime, SIGKILL}};
    if (!is_draining_) {
      later_signals_.push_front({now + kTimeToDrainAlready, SIGUSR1});
    }
  }
}

Supervisor::TimePoint Supervisor::SendLaterSignals() {
  while (!later_signals_.empty() && later_signals_.front().at <= Clock::now()) {
    const int signal = later_signals_.front().signal;
    later_signals_.pop_front();
    if (signal != SIGUSR1) {
      job_->Signal(signal);
    } else if (!is_draining_ || stop_requests_ > 1) {
      job_->SignalRankZero(signal);
    }
  }
  return later_signals_.empty() ? TimePoint::max() : later_signals_.front().at;
}

}  // namespace scorecast::launcher
