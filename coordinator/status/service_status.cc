#include "coordinator/status/service_status.h"

#include <cmath>
#include <cstdio>

namespace scorecast::coordinator {
namespace {

std::string LineOf(int rank, const proto::RankStatus& status) {
  std::string line = "status: rank " + std::to_string(rank) + " (host " + status.host +
                     "): " + std::string(proto::Name(status.state));
  if (status.pass > 0) {
    line += ", pass " + std::to_string(status.pass) + ", step " + std::to_string(status.step);
  }
  if (status.cpu_share) {
    line += ", " + std::to_string(std::lround(*status.cpu_share * 100)) + " % of a CPU";
  }
  char heard[64];
  std::snprintf(heard, sizeof(heard), ", heard %.1f s ago", status.seconds_since_heard);
  return line + heard;
}

}  // namespace

std::vector<std::string> LinesOf(const ServiceStatus& status) {
  std::vector<std::string> lines;
  lines.push_back("status: " + std::to_string(status.cluster.passes_done) +
                  " passes done; cache: " + std::to_string(status.cache.cached_pages) + " pages, " +
                  std::to_string(status.cache.hit_tokens) + " of " +
                  std::to_string(status.cache.asked_tokens) + " tokens found");
  int rank = 0;
  for (const proto::RankStatus& of_rank : status.cluster.ranks) {
    lines.push_back(LineOf(rank++, of_rank));
  }
  return lines;
}

}  // namespace scorecast::coordinator
