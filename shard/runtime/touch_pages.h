#pragma once

#include <cstddef>
#include <span>

#include "shard/runtime/thread_pool.h"

namespace scorecast::shard {

/// Brings the pages of `bytes` into memory, so that using them later costs no page fault. Writes a
/// zero into each page, because a new page that was only read would fault again when it is written.
/// The bytes must therefore still be zero, or their contents must not matter. The pool's threads
/// share the work in the same way as the rows of a pass, because it is not known beforehand which
/// thread will use a page.
void TouchPages(std::span<std::byte> bytes, ThreadPool& pool);

/// Like TouchPages, but only reads: for memory that other processes share and may be writing.
void TouchPagesToRead(std::span<const std::byte> bytes, ThreadPool& pool);

}  // namespace scorecast::shard
