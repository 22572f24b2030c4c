#include "launcher/supervisor/signal_pipe.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace scorecast::launcher {
namespace {

volatile int pipe_of_handler = -1;

void WriteSignal(int signal) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(signal);
  // A full pipe already holds thousands of signals, so this one may be lost.
  [[maybe_unused]] const ssize_t written = write(pipe_of_handler, &byte, 1);
  errno = error;
}

}  // namespace

SignalPipe::SignalPipe(std::initializer_list<int> signals) {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  read_ = Descriptor(ends[0]);
  write_ = Descriptor(ends[1]);
  pipe_of_handler = write_.get();
  for (const int signal : signals) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN && signal != SIGCHLD) {
      continue;
    }
    action = {};
    action.sa_handler = WriteSignal;
    action.sa_flags = SA_RESTART | SA_NOCLDSTOP;
    sigaction(signal, &action, nullptr);
    caught_.push_back(signal);
  }
}

SignalPipe::~SignalPipe() {
  for (const int signal : caught_) {
    std::signal(signal, SIG_DFL);
  }
}

std::vector<int> SignalPipe::Take() {
  std::array<unsigned char, 64> bytes{};
  const ssize_t count = read(read_.get(), bytes.data(), bytes.size());
  return {bytes.begin(), bytes.begin() + (count > 0 ? count : 0)};
}

}  // namespace scorecast::launcher
