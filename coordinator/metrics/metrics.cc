#include "coordinator/metrics/metrics.h"

#include <fstream>
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

}  // namespace

Families Metrics::Collect(const ServiceStatus& status, std::int64_t page_bytes) const {
  Families families = requests.Collect();
  Append(families, passes.Collect());
  Append(families, FamiliesOf(status, page_bytes));
  Append(families, ProcessFamilies());
  return families;
}

Resource MetricsResource(const Metrics& metrics, std::function<ServiceStatus()> status,
                         std::int64_t page_bytes) {
  return {"/metrics",
          [&metrics, status = std::move(status), page_bytes] {
            return ResourceContent{
                200, "text/plain; version=0.0.4; charset=utf-8",
                prometheus::TextSerializer().Serialize(metrics.Collect(status(), page_bytes))};
          },
          "Metrics in the text format of Prometheus."};
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
