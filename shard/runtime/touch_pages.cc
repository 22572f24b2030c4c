#include "shard/runtime/touch_pages.h"

#include <algorithm>
#include <cstdint>

#include <unistd.h>

namespace scorecast::shard {
namespace {

/// Calls touch(byte) for one byte of each page. A page takes about a microsecond, so a task takes
/// some hundreds.
template <typename Byte, typename Touch>
void ForEachPage(std::span<Byte> bytes, ThreadPool& pool, const Touch& touch) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t task_bytes = 256 * page;
  if (bytes.empty()) {
    return;
  }
  // Tasks begin at whole pages. The first page may begin before the first byte.
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(bytes.data()) % page;
  const std::size_t size = offset + bytes.size();
  const auto tasks = static_cast<std::int64_t>((size + task_bytes - 1) / task_bytes);
  pool.ParallelFor(tasks, [&](std::int64_t task, int) {
    const std::size_t begin = static_cast<std::size_t>(task) * task_bytes;
    const std::size_t end = std::min(size, begin + task_bytes);
    for (std::size_t at = begin; at < end; at += page) {
      touch(bytes[std::max(at, offset) - offset]);
    }
  });
}

}  // namespace

void TouchPages(std::span<std::byte> bytes, ThreadPool& pool) {
  ForEachPage(bytes, pool,
              [](std::byte& byte) { *static_cast<volatile std::byte*>(&byte) = std::byte{0}; });
}

void TouchPagesToRead(std::span<const std::byte> bytes, ThreadPool& pool) {
  ForEachPage(bytes, pool, [](const std::byte& byte) {
    static_cast<void>(*static_cast<const volatile std::byte*>(&byte));
  });
}

}  // namespace scorecast::shard
