#include "coordinator/metrics/process_memory.h"

#include <fstream>

#include <unistd.h>

namespace scorecast::coordinator {

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
