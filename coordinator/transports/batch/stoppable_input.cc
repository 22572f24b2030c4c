#include "coordinator/transports/batch/stoppable_input.h"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "coordinator/transports/batch/files/file_bytes.h"
#include "proto/base/error.h"

namespace scorecast::coordinator {
namespace {

class StoppableSource : public ByteSource {
 public:
  StoppableSource(std::unique_ptr<ByteSource> source, int stop)
      : source_(std::move(source)), stop_(stop) {}

  proto::Expected<std::size_t, std::string> Read(std::span<char> to) override {
    std::array<pollfd, 2> waiting = {{{STDIN_FILENO, POLLIN, 0}, {stop_, POLLIN, 0}}};
    while (poll(waiting.data(), waiting.size(), -1) < 0) {
      if (errno != EINTR) {
        return proto::Unexpected(std::generic_category().message(errno));
      }
    }
    return waiting[1].revents != 0 ? std::size_t{0} : source_->Read(to);
  }

  std::optional<std::int64_t> size() const override { return source_->size(); }

 private:
  const std::unique_ptr<ByteSource> source_;
  const int stop_;
};

}  // namespace

StoppableInput::StoppableInput() : stop_(eventfd(0, EFD_CLOEXEC)) {
  if (stop_ < 0) {
    throw proto::StartupError("cannot make an eventfd: " + std::generic_category().message(errno));
  }
}

StoppableInput::~StoppableInput() { close(stop_); }

std::unique_ptr<ByteSource> StoppableInput::MakeSource() const {
  return std::make_unique<StoppableSource>(OpenToRead("-"), stop_);
}

void StoppableInput::Stop() const { static_cast<void>(eventfd_write(stop_, 1)); }

}  // namespace scorecast::coordinator
