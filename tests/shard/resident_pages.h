#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace scorecast::testing {

/// Makes the kernel give this process small pages from now on. A huge page would bring memory along
/// that was not touched.
inline void DisableHugePages() { ASSERT_EQ(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0), 0); }

struct PageCount {
  std::size_t resident = 0;
  std::size_t all = 0;
};

/// Pages of this process's own memory that `bytes` reach, and how many of them are in memory.
inline PageCount CountPages(std::span<const std::byte> bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::uintptr_t first_page = begin / page * page;
  const std::size_t size = begin + bytes.size() - first_page;
  std::vector<unsigned char> is_resident((size + page - 1) / page);
  EXPECT_EQ(mincore(reinterpret_cast<void*>(first_page), size, is_resident.data()), 0);
  PageCount count{.all = is_resident.size()};
  for (const unsigned char flags : is_resident) {
    count.resident += flags & 1U;
  }
  return count;
}

}  // namespace scorecast::testing
