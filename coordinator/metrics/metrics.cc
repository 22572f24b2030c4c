#include "coordinator/metrics/metrics.h"

#include <fstream>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>

#include <malloc.h>
#include <prometheus/text_serializer.h>
#include <unistd.h>

#include "coordinator/metrics/status_metrics.h"

/// The sanitizers define this function, because mallinfo2 does not know their allocator. It is null
/// in other builds.
extern "C" [[gnu::weak]] std::size_t __sanitizer_get_current_allocated_bytes();

namespace scorecast::coordinator {
namespace {

std::int64_t HeapOfThisProcess() {
  if (__sanitizer_get_current_allocated_bytes != nullptr) {
    return static_cast<std::int64_t>(__sanitizer_get_current_allocated_bytes());
  }
  const struct mallinfo2 heap = mallinfo2();
  return static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
}

Families ProcessFamilies() {
  const ProcessMemory memory = MemoryOfThisProcess();
  // Once, because the boot time moves if the clock is set.
  static const double start_of_this_process = StartOfThisProcess();
  return {
      Gauge("process_resident_memory_bytes", "Resident memory of rank 0.",
            static_cast<double>(memory.resident)),
      Gauge("process_virtual_memory_bytes", "Virtual memory of rank 0.",
            static_cast<double>(memory.virtual_size)),
      Gauge("scorecast_heap_bytes", "What rank 0 has allocated and not freed.",
            static_cast<double>(memory.heap)),
      Gauge("process_start_time_seconds", "Time at which rank 0 was started, of the Unix epoch.",
            start_of_this_process),
  };
}

prometheus::MetricFamily BuildFamily(const BuildFacts& build) {
  prometheus::MetricFamily family =
      GaugeFamily("scorecast_build_info", "1; its labels say which build of scorecast runs.");
  AddValue(family,
           {{"version", build.version},
            {"build_id", build.build_id},
            {"compiler", build.compiler},
            {"mpi", build.mpi}},
           1);
  return family;
}

/// Forms a content only if the last one is older than kMetricsAge. Safe to use from any thread.
class LatestContent {
 public:
  LatestContent(std::function<ResourceContent()> form, std::function<Clock::time_point()> now)
      : form_(std::move(form)), now_(std::move(now)) {}

  SharedContent Get() {
    const std::lock_guard lock(mutex_);
    if (content_ == nullptr || now_() - formed_ >= kMetricsAge) {
      content_ = Share(form_());
      formed_ = now_();
    }
    return content_;
  }

 private:
  const std::function<ResourceContent()> form_;
  const std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  SharedContent content_;
  Clock::time_point formed_;
};

}  // namespace

Families Metrics::Collect(const ServiceStatus& status, std::int64_t page_bytes) const {
  Families families = requests.Collect();
  Append(families, passes.Collect());
  Append(families, FamiliesOf(status, page_bytes));
  families.push_back(BuildFamily(build));
  Append(families, ProcessFamilies());
  return families;
}

Resource MetricsResource(const Metrics& metrics, std::function<ServiceStatus()> status,
                         std::int64_t page_bytes, std::function<Clock::time_point()> now) {
  auto collect = [&metrics, status = std::move(status), page_bytes] {
    return ResourceContent{
        200, "text/plain; version=0.0.4; charset=utf-8",
        prometheus::TextSerializer().Serialize(metrics.Collect(status(), page_bytes))};
  };
  const auto latest = std::make_shared<LatestContent>(std::move(collect), std::move(now));
  return {"/metrics", [latest] { return latest->Get(); },
          "Metrics in the text format of Prometheus.", /*is_state=*/true};
}

ProcessMemory MemoryOfThisProcess() {
  std::ifstream file("/proc/self/statm");
  std::int64_t virtual_pages = 0;
  std::int64_t resident_pages = 0;
  if (!(file >> virtual_pages >> resident_pages)) {
    virtual_pages = resident_pages = 0;
  }
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return {resident_pages * page, virtual_pages * page, HeapOfThisProcess()};
}

double StartOfThisProcess() {
  std::ifstream boot("/proc/stat");
  std::string word;
  double boot_seconds = 0;
  while (boot >> word && word != "btime") {
  }
  std::ifstream file("/proc/self/stat");
  std::string line;
  if (!(boot >> boot_seconds) || !std::getline(file, line)) {
    return 0;
  }
  // The second field is the program's name in brackets, which may have spaces and brackets.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  constexpr int kFieldsBetween = 19;  // The start is field 22.
  for (int i = 0; i < kFieldsBetween; ++i) {
    fields >> word;
  }
  double ticks = 0;
  return fields >> ticks ? boot_seconds + ticks / static_cast<double>(sysconf(_SC_CLK_TCK)) : 0;
}

}  // namespace scorecast::coordinator
