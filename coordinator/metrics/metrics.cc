#include "coordinator/metrics/metrics.h"

#include <fstream>
#include <memory>
#include <mutex>
#include <utility>

#include <prometheus/text_serializer.h>
#include <unistd.h>

#include "coordinator/metrics/status_metrics.h"

namespace scorecast::coordinator {
namespace {

Families ProcessFamilies() {
  const ProcessMemory memory = MemoryOfThisProcess();
  return {
      Gauge("process_resident_memory_bytes", "Resident memory of rank 0.",
            static_cast<double>(memory.resident)),
      Gauge("process_virtual_memory_bytes", "Virtual memory of rank 0.",
            static_cast<double>(memory.virtual_size)),
  };
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
    return {};
  }
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  return {resident_pages * page, virtual_pages * page};
}

}  // namespace scorecast::coordinator
