#include "coordinator/access/file_watch.h"

#include <exception>
#include <utility>

#include <sys/stat.h>

#include "proto/base/one_line.h"
#include "proto/log/log.h"

namespace scorecast::coordinator {

std::string FileMarks(std::span<const std::string> files) {
  std::string marks;
  for (const std::string& file : files) {
    struct stat status {};
    if (!file.empty() && stat(file.c_str(), &status) == 0) {
      for (const auto mark :
           {static_cast<long long>(status.st_dev), static_cast<long long>(status.st_ino),
            static_cast<long long>(status.st_size), static_cast<long long>(status.st_mtim.tv_sec),
            static_cast<long long>(status.st_mtim.tv_nsec),
            static_cast<long long>(status.st_ctim.tv_sec),
            static_cast<long long>(status.st_ctim.tv_nsec)}) {
        marks += std::to_string(mark) + " ";
      }
    }
    marks += "\n";
  }
  return marks;
}

FileWatch::FileWatch(std::vector<Look> looks, std::chrono::milliseconds interval)
    : looks_(std::move(looks)),
      thread_([this, interval](const std::stop_token& stop) { Run(stop, interval); }) {}

void FileWatch::Run(const std::stop_token& stop, std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, interval, [] { return false; });
    for (auto look = looks_.begin(); look != looks_.end() && !stop.stop_requested(); ++look) {
      // What a look throws ends no program: it is of a file that may be right at the next look.
      try {
        (*look)();
      } catch (const std::exception& fault) {
        proto::LogWarning("a file that is watched cannot be looked at: {}",
                          proto::OneLine(fault.what()));
      }
    }
  }
}

}  // namespace scorecast::coordinator
