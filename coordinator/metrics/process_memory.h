#pragma once

#include <cstdint>

namespace scorecast::coordinator {

/// Memory of this process in bytes; 0 if the system does not tell.
struct ProcessMemory {
  std::int64_t resident = 0;  ///< Includes memory that is shared with other processes.
  std::int64_t virtual_size = 0;
};

ProcessMemory MemoryOfThisProcess();

}  // namespace scorecast::coordinator
