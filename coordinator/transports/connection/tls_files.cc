#include "coordinator/transports/connection/tls_files.h"

#include <array>
#include <chrono>
#include <utility>

#include "coordinator/access/file_watch.h"
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

TlsFiles::TlsFiles(proto::TlsServerFiles files)
    : files_(std::move(files)),
      marks_(CurrentMarks()),
      current_(proto::TlsContext::OfServer(files_)) {
  WarnOfDates(files_.certificate, current_);
}

proto::TlsContext TlsFiles::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

std::string TlsFiles::CurrentMarks() const {
  const std::array<std::string, 3> files = {files_.certificate, files_.key, files_.client_ca};
  return FileMarks(files);
}

void TlsFiles::Reload() {
  std::string marks = CurrentMarks();  // Before the files are read, so that no change is missed.
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
