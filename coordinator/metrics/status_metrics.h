#pragma once

#include <cstdint>

#include "coordinator/metrics/families.h"
#include "coordinator/status/service_status.h"

namespace scorecast::coordinator {

/// Metrics of a status: queue, times of passes, cache, ranks and clients. `page_bytes` is the size
/// of a page of K/V on the rank with the most K/V heads.
Families FamiliesOf(const ServiceStatus& status, std::int64_t page_bytes);

}  // namespace scorecast::coordinator
