#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "coordinator/endpoints/endpoints.h"
#include "coordinator/metrics/families.h"
#include "coordinator/metrics/pass_metrics.h"
#include "coordinator/metrics/request_metrics.h"
#include "coordinator/resources/resource.h"
#include "coordinator/schedule/clock.h"
#include "coordinator/status/service_status.h"

namespace scorecast::coordinator {

/// What this executable is: the labels of scorecast_build_info.
struct BuildFacts {
  std::string version;
  std::string build_id;  ///< The linker's, in hexadecimal.
  std::string compiler;
  std::string mpi;  ///< The library that runs, and its version.
};

/// All metrics of a service. The service updates the counts.
struct Metrics {
  /// `names_clients`: see RequestMetrics.
  explicit Metrics(EndpointList endpoints, bool names_clients = false, BuildFacts build_facts = {})
      : requests(endpoints, names_clients), build(std::move(build_facts)) {}

  /// All families, each once and in a fixed order. `page_bytes` is the size of a page of K/V on a
  /// rank. Any thread may call it.
  Families Collect(const ServiceStatus& status, std::int64_t page_bytes) const;

  RequestMetrics requests;
  PassMetrics passes;
  const BuildFacts build;
};

/// The metrics are collected again if they are older than this.
inline constexpr std::chrono::milliseconds kMetricsAge{100};

/// GET /metrics, in Prometheus' text format. `metrics` must outlive the resource. All scrapes
/// within kMetricsAge share one text, because collecting it takes longer than most requests.
/// `status` is called on any thread, but by one at a time.
Resource MetricsResource(const Metrics& metrics, std::function<ServiceStatus()> status,
                         std::int64_t page_bytes,
                         std::function<Clock::time_point()> now = Clock::now);

/// Memory of this process in bytes; 0 if the system does not tell.
struct ProcessMemory {
  std::int64_t resident = 0;  ///< Includes memory that is shared with other processes.
  std::int64_t virtual_size = 0;
  /// What is allocated and not freed. The allocator keeps freed memory, which stays resident.
  std::int64_t heap = 0;
};

ProcessMemory MemoryOfThisProcess();

/// When this process was started, in seconds of the Unix epoch, to about a second; 0 if the system
/// does not tell.
double StartOfThisProcess();

}  // namespace scorecast::coordinator
