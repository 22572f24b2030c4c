#pragma once

#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "coordinator/front/clients/front_status.h"
#include "coordinator/resources/resource.h"

namespace scorecast::coordinator {

struct FrontResourceOptions {
  std::string version;
  std::time_t created = 0;    ///< When the front was started.
  bool open_metrics = false;  ///< /metrics needs no key.
  std::function<FrontStatus()> status;
  std::function<bool()> is_draining;
};

/// What a front itself has at its URLs: /health, /ping, /ready, /metrics and /v1/models. The
/// functions are called on any thread.
std::vector<Resource> FrontResources(const FrontResourceOptions& options);

}  // namespace scorecast::coordinator
