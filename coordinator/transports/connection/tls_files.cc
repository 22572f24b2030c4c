#include "coordinator/transports/connection/tls_files.h"

#include <utility>

#include <sys/stat.h>

#include "proto/base/error.h"
#include "proto/base/one_line.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {
namespace {

/// The log warns of a certificate that expires within this time.
constexpr auto kWarningTime = std::chrono::hours(14 * 24);

void WarnOfDates(const std::string& file, const proto::TlsContext& context) {
  if (!context.is_valid_yet()) {
    proto::LogWarning("the TLS certificate {} is not valid yet, by this host's clock",
                      proto::OneLinePath(file));
  }
  const std::chrono::seconds left =
      context.valid_until() -
      std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  if (left < kWarningTime) {
    proto::LogWarning("the TLS certificate {} expires in {} hours", proto::OneLinePath(file),
                      std::chrono::duration_cast<std::chrono::hours>(left).count());
  }
}

}  // namespace

TlsFiles::TlsFiles(proto::TlsServerFiles files, std::chrono::milliseconds interval)
    : files_(std::move(files)), marks_(Marks()), current_(proto::TlsContext::OfServer(files_)) {
  WarnOfDates(files_.certificate, current_);
  thread_ = std::thread([this, interval] { Watch(interval); });  // It changes `current_`.
}

TlsFiles::~TlsFiles() {
  {
    const std::lock_guard lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

proto::TlsContext TlsFiles::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

std::string TlsFiles::Marks() const {
  std::string marks;
  for (const std::string& file : {files_.certificate, files_.key, files_.client_ca}) {
    struct stat status {};
    if (!file.empty() && stat(file.c_str(), &status) == 0) {
      for (const auto mark :
           {static_cast<long long>(status.st_dev), static_cast<long long>(status.st_ino),
            static_cast<long long>(status.st_size), static_cast<long long>(status.st_mtim.tv_sec),
            static_cast<long long>(status.st_mtim.tv_nsec)}) {
        marks += std::to_string(mark) + " ";
      }
    }
    marks += "\n";
  }
  return marks;
}

void TlsFiles::Watch(std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, interval, [this] { return is_ending_; })) {
    lock.unlock();
    ReadAgain();
    lock.lock();
  }
}

void TlsFiles::ReadAgain() {
  std::string marks = Marks();  // Before the files are read, so that no change is missed.
  if (marks == marks_) {
    return;
  }
  marks_ = std::move(marks);
  try {
    proto::TlsContext context = proto::TlsContext::OfServer(files_);
    WarnOfDates(files_.certificate, context);
    const std::lock_guard lock(mutex_);
    current_ = std::move(context);
  } catch (const proto::StartupError& fault) {
    proto::LogError("new connections still get the TLS files read before: {}", fault.what());
    return;
  }
  proto::LogInfo("the TLS files were read again: {}", proto::OneLinePath(files_.certificate));
}

}  // namespace scorecast::coordinator
